//! What the budget book on disk adds to a round.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use steffle_ledger::{Charter, Disk, Storage, StoreId, create, reopen};
use steffle_privacy::ledger::{
    Accounts, Charge, Claim, Cost, Entry, Kind, Ledger, NoiseKind, Offer, Policy, Roll,
    StoreColumns,
};

use crate::Outcome;

/// What to write, and where.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// People in the store, each with an account of its own
    #[arg(long, default_value_t = 11_305)]
    units: u32,
    /// Rounds
    #[arg(long, default_value_t = 25)]
    rounds: u32,
    /// Bytes of a reply
    #[arg(long, default_value_t = 2_000)]
    reply: usize,
    /// Make every sync take this many milliseconds, as on a disk of one's own choice; 0 measures this
    /// one's
    #[arg(long, default_value_t = 4.0)]
    sync: f64,
    /// The folder to write to
    #[arg(long, default_value = ".")]
    folder: PathBuf,
}

/// A file that counts its syncs, each at least so long.
struct Counted {
    disk: Disk,
    syncs: Arc<AtomicU64>,
    nanoseconds: Arc<AtomicU64>,
    least: Duration,
}

impl Storage for Counted {
    fn read(&self) -> io::Result<Vec<u8>> {
        self.disk.read()
    }

    fn read_at(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        self.disk.read_at(offset, length)
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.disk.append(bytes)
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.disk.cut(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        let begun = Instant::now();
        // A disk of the stated speed: what it is asked to do takes no longer than that.
        if self.least.is_zero() {
            self.disk.sync()?;
        } else {
            std::thread::sleep(self.least);
        }
        self.syncs.fetch_add(1, Ordering::Relaxed);
        self.nanoseconds.fetch_add(begun.elapsed().as_nanos() as u64, Ordering::Relaxed);
        Ok(())
    }
}

/// Prints what a round costs with and without a second head.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    for second in [false, true] {
        measure(arguments, second)?;
    }
    Ok(())
}

fn measure(arguments: &Arguments, second: bool) -> Outcome {
    let &Arguments { units, rounds, reply, sync, ref folder } = arguments;
    let book = folder.join(format!("bench-{}.ledger", std::process::id()));
    let head = folder.join(format!("bench-{}.head", std::process::id()));
    let store = StoreId::random().ok_or("no random numbers")?;
    let charter = Charter::new(store, Policy::of(1.0, 1e-6), second.then(|| head.clone()));
    create(&book, charter, &columns()?, || 0)?;
    let (syncs, nanoseconds) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let least = Duration::from_secs_f64(sync / 1000.0);
    let file = |path: &PathBuf| -> io::Result<Counted> {
        let file = std::fs::File::options().read(true).write(true).open(path)?;
        let (syncs, nanoseconds) = (syncs.clone(), nanoseconds.clone());
        Ok(Counted { disk: Disk::new(file), syncs, nanoseconds, least })
    };
    let opened = second.then(|| file(&head)).transpose()?;
    let mut ledger = reopen(file(&book)?, "book", |_| Ok(opened), || 0)?;
    let offer = Offer {
        run: "bench".into(),
        method: "steffle".into(),
        mode: "exact".into(),
        notion: "demographic-parity".into(),
        rounds,
        epsilon: 1.0,
        delta: 1e-6,
        claim: Claim::Gaussian,
        noise: NoiseKind::Secure,
    };
    let roll =
        || Roll { ids: (0..u64::from(units)).collect(), units: Vec::new(), ..Roll::default() };
    let grant = ledger.open(&offer.check()?, Accounts::Units(units), &roll)?;
    let before = (syncs.load(Ordering::Relaxed), nanoseconds.load(Ordering::Relaxed));
    let (size, begun) = (std::fs::metadata(&book)?.len(), Instant::now());
    for round in 0..rounds {
        let squared = 0.05 / f64::from(rounds + 1);
        let cost = |unit: u32| squared * f64::from(unit % 97) / 97.0;
        let request = Sha256::digest(round.to_le_bytes()).into();
        let entry = Entry {
            request,
            fresh: 0,
            round: Some(round),
            kind: Kind::Sums,
            cost: Cost::Gaussian { squared, slack: 1e-12, numbers: 107 },
            charge: Charge::Units((0..units).map(cost).collect()),
        };
        let ticket = ledger.reserve(grant, entry, NoiseKind::Secure)?;
        let bytes = vec![round as u8; reply];
        let hash = Sha256::digest(&bytes).into();
        ledger.commit(ticket, &bytes, hash)?;
    }
    let wall = begun.elapsed().as_secs_f64() * 1000.0 / f64::from(rounds);
    let synced = (nanoseconds.load(Ordering::Relaxed) - before.1) as f64 / 1e6 / f64::from(rounds);
    let count = (syncs.load(Ordering::Relaxed) - before.0) as f64 / f64::from(rounds);
    let bytes = (std::fs::metadata(&book)?.len() - size) / u64::from(rounds);
    println!(
        "{units} units, second head: {second}: {count} syncs and {wall:.1} ms per round ({synced:.1} ms \
         of it in syncs), {bytes} bytes"
    );
    drop(ledger);
    std::fs::remove_file(&book)?;
    if second {
        std::fs::remove_file(&head)?;
    }
    Ok(())
}

/// The columns of a store that nobody reads.
pub(crate) fn columns() -> Result<StoreColumns, steffle_privacy::Refusal> {
    StoreColumns::new(["sex"], ["f", "m"], "record_id", None)
}
