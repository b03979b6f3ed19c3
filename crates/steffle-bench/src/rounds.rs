//! Where the time of a round goes: computing, carrying messages between processes, and the ledger.

use std::io::{stdin, stdout};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use steffle::federation::{Agreement, Federation, RunKind};
use steffle::model::ModelKind;
use steffle::node::{Encoded, Node};
use steffle::noise::NoiseKind;
use steffle::protocol::{
    Answer, Batch, CellQuestion, Form, Lost, NodeId, Opening, Question, RunId, SchemaHash, Share,
    Terms, Transport,
};
use steffle_ledger::{Charter, StoreId, create, open};
use steffle_privacy::Mu;
use steffle_privacy::ledger::{
    Accounts, CheckedOffer, Claim, Ended, Entry, GrantId, Ledger, Policy, Receipt, Refusal, Roll,
    StoreColumns, Stored, Ticket,
};
use steffle_process::{Desk, Keeps, Patience, Processes, frame, serve};

use crate::Outcome;
use crate::clock::Clock;
use crate::problem::OBJECTIVE;
use crate::synthetic::{LAYOUT, silo};

/// Arguments of `rounds`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Records of every silo.
    #[arg(long, default_value_t = 11_305)]
    records: usize,
    /// Rounds of every measurement.
    #[arg(long, default_value_t = 25)]
    rounds: u32,
    /// Numbers of silos.
    #[arg(long, value_delimiter = ',', default_values_t = [3, 10])]
    silos: Vec<usize>,
    /// Models: 103 and 10,072 parameters.
    #[arg(long, value_delimiter = ';', default_values_t = ["logistic".to_owned(), "mlp:96".to_owned()])]
    models: Vec<String>,
    /// The folder of ledgers and records.
    #[arg(long, default_value = "rounds-scratch")]
    folder: PathBuf,
}

/// A site in a process of its own.
#[derive(clap::Args)]
pub(crate) struct Site {
    #[arg(long)]
    place: u64,
    #[arg(long)]
    records: usize,
    #[arg(long)]
    folder: PathBuf,
    /// Instead of all that: answer everything with so many bytes.
    #[arg(long)]
    echo: Option<usize>,
}

/// Prints the table.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let Arguments { records, rounds, silos, models, folder } = arguments;
    println!(
        "{records} records per silo, median of {rounds} rounds of mode exact, milliseconds; the longest site"
    );
    println!(
        "{:>6} {:>10} {:>9} {:>9} {:>9} {:>9} {:>9} {:>10} {:>10}",
        "silos",
        "parameters",
        "compute",
        "carrying",
        "ledger",
        "whole",
        "echo",
        "bytes out",
        "bytes back"
    );
    for model in models {
        for &silos in silos {
            let model: ModelKind = model.parse()?;
            let setting = Setting { model, silos, records: *records, rounds: *rounds, folder };
            setting.line()?;
        }
    }
    let _ = std::fs::remove_dir_all(folder);
    Ok(())
}

struct Setting<'a> {
    model: ModelKind,
    silos: usize,
    records: usize,
    rounds: u32,
    folder: &'a Path,
}

/// What the messages of one round were, and how long the server waited for each round.
struct Measured {
    waited: Vec<f64>,
    out: f64,
    back: f64,
}

impl Setting<'_> {
    fn line(&self) -> Outcome {
        let measured = self.measure(self.start("paid", &[])?)?;
        // Sites have ended, and written down how long each message took them.
        let sites = (0..self.silos).map(|at| self.times("paid", at));
        let sites = sites.collect::<Result<Vec<_>, _>>()?;
        let longest = |round: usize, time: fn(&(f64, f64)) -> f64| {
            sites.iter().map(|site| time(&site[round])).fold(0.0, f64::max)
        };
        let rounds = 0..self.rounds as usize;
        let compute = median(rounds.clone().map(|at| longest(at, |(all, book)| all - book)));
        let ledger = median(rounds.clone().map(|at| longest(at, |(_, book)| *book)));
        let carry = |at: usize| measured.waited[at] - longest(at, |(all, _)| *all);
        let carrying = median(rounds.map(carry));
        let silos = self.silos as f64;
        let bytes = (measured.back / silos) as usize;
        let mut echo = self.start("echo", &["--echo", &bytes.to_string()])?;
        let request = vec![0; (measured.out / silos) as usize];
        let mut waited = Vec::new();
        for _ in 0..=self.rounds {
            let all: Vec<(NodeId, &[u8])> =
                (0..self.silos).map(|at| (NodeId::at(at), &request[..])).collect();
            let clock = Clock::start();
            if let Some(lost) = echo.exchange(&all).into_iter().find_map(Result::err) {
                return Err(lost.to_string().into());
            }
            waited.push(clock.wall());
        }
        let echo = median(waited.into_iter().skip(1));
        let whole = median(measured.waited.iter().copied());
        let parameters = self.model.build(LAYOUT, 2)?.parameters();
        println!(
            "{:>6} {parameters:>10} {:>9.2} {:>9.2} {:>9.2} {:>9.2} {:>9.2} {:>10.0} {:>10.0}",
            self.silos,
            compute * 1e3,
            carrying * 1e3,
            ledger * 1e3,
            whole * 1e3,
            echo * 1e3,
            measured.out,
            measured.back
        );
        Ok(())
    }

    /// What a site wrote down of the rounds: seconds in all, and of them in its ledger.
    fn times(&self, name: &str, at: usize) -> Result<Vec<(f64, f64)>, Box<dyn std::error::Error>> {
        let text = std::fs::read_to_string(self.at(name).join(at.to_string()).join("times"))?;
        let pair = |line: &str| -> Option<(f64, f64)> {
            let (all, book) = line.split_once(' ')?;
            Some((all.parse().ok()?, book.parse().ok()?))
        };
        let all: Vec<_> = text.lines().filter_map(pair).collect();
        Ok(all[all.len() - self.rounds as usize..].to_vec())
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}-{}-{}", self.silos, self.model))
    }

    /// One process per silo.
    fn start(&self, name: &str, more: &[&str]) -> Result<Processes, Box<dyn std::error::Error>> {
        let program = std::env::current_exe()?;
        let folder = self.at(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder)?;
        let command = |place: usize| {
            let mut command = Command::new(&program);
            command.arg("round-site").args(["--place", &place.to_string()]);
            command.args(["--records", &self.records.to_string()]);
            command.arg("--folder").arg(&folder).args(more);
            command
        };
        Ok(Processes::start((0..self.silos).map(command), Patience::default())?)
    }

    /// Runs the rounds over a transport.
    fn measure(&self, transport: impl Transport) -> Result<Measured, Box<dyn std::error::Error>> {
        let counted = Counted { transport, out: 0, back: 0, waited: Vec::new() };
        let agreement = Agreement {
            run: RunId([0; 16]),
            schema: SchemaHash([0; 32]),
            columns: Vec::new(),
            layout: LAYOUT,
            model: self.model.clone(),
            scores: OBJECTIVE.into(),
            seed: 0,
            noise: NoiseKind::Simulation,
            kind: RunKind::default(),
        };
        let mut federation = Federation::join(counted, agreement)?;
        let offer = federation.offer(Claim::Gaussian, 1.0, 1e-6, self.rounds + 1)?;
        let share = Share { round: 0.0005, table: 0.15 };
        let terms = Terms::Exact(share);
        federation.open(offer, |offer| Opening {
            terms,
            cap: Some(0.5),
            ..Opening::plain(offer)
        })?;
        let parameters = federation.model().parameters();
        let question = |round: u32| Question {
            theta: vec![0.001 * f64::from(round); parameters],
            cells: vec![CellQuestion {
                combinations: vec![0.5, 0.25, -0.5, 1.0],
                quadratic: vec![0.1; 2],
            }],
            form: Form::Centred,
            batch: Batch::All,
            loss: true,
        };
        // Round 0 measures rows; the others are alike.
        federation.round(0, &question(0))?;
        let before = (federation.transport().out, federation.transport().back);
        for round in 1..=self.rounds {
            federation.round(round, &question(round))?;
        }
        let Counted { out, back, waited, .. } = federation.transport();
        let waited = waited[waited.len() - self.rounds as usize..].to_vec();
        let each = |now: usize, before: usize| (now - before) as f64 / f64::from(self.rounds);
        Ok(Measured { waited, out: each(*out, before.0), back: each(*back, before.1) })
    }
}

/// A transport whose bytes are counted.
struct Counted<T> {
    transport: T,
    out: usize,
    back: usize,
    /// Seconds of every exchange.
    waited: Vec<f64>,
}

impl<T: Transport> Transport for Counted<T> {
    fn nodes(&self) -> usize {
        self.transport.nodes()
    }

    fn exchange(&mut self, requests: &[(NodeId, &[u8])]) -> Vec<Result<Vec<u8>, Lost>> {
        let clock = Clock::start();
        let replies = self.transport.exchange(requests);
        self.waited.push(clock.wall());
        self.out += requests.iter().map(|(_, request)| request.len()).sum::<usize>();
        self.back += replies.iter().flatten().map(Vec::len).sum::<usize>();
        replies
    }
}

fn node(place: u64, records: usize) -> Result<Node, Box<dyn std::error::Error>> {
    let (records, attributes) = silo(place, place * records as u64, records)?;
    Ok(Node::new(Encoded::new(Some(records), Some(attributes))))
}

/// Answers frames until nobody asks any more.
pub(crate) fn run_site(site: &Site) -> Outcome {
    let (mut from, mut to) = (stdin().lock(), stdout().lock());
    if let Some(bytes) = site.echo {
        let answer = Answer { reply: vec![0; bytes], letters: Vec::new() };
        return Ok(serve(|_, _| answer.clone(), &mut from, &mut to, frame::MOST)?);
    }
    let folder = site.folder.join(site.place.to_string());
    std::fs::create_dir_all(&folder)?;
    let policy = Policy {
        epsilon: 2.0,
        delta: 1e-5,
        epsilon_alone: None,
        pure_share: 0.0,
        sampled_share: 0.0,
        methods: Vec::new(),
        modes: Vec::new(),
        notions: Vec::new(),
        simulations: true,
        open_runs: 3,
    };
    let store = StoreId::random().ok_or("no random numbers")?;
    let path = folder.join("store.ledger");
    create(&path, Charter::new(store, policy, None), &crate::ledger::columns()?, || 0)?;
    let node = node(site.place, site.records)?.keeping(Box::new(Timed(open(&path, || 0)?)));
    let keeps = Keeps { folder, holding: [0; 32], wait: Duration::from_secs(5) };
    let mut desk = Desk::new(node).keeping(keeps);
    let mut times: Vec<String> = Vec::new();
    let answer = |from: NodeId, message: &[u8]| {
        let (clock, before) = (Clock::start(), LEDGER.load(Ordering::Relaxed));
        let answer = desk.handle(from, message);
        let book = (LEDGER.load(Ordering::Relaxed) - before) as f64 * 1e-9;
        times.push(format!("{} {book}\n", clock.wall()));
        answer
    };
    serve(answer, &mut from, &mut to, frame::MOST)?;
    Ok(std::fs::write(site.folder.join(site.place.to_string()).join("times"), times.concat())?)
}

/// Nanoseconds in the ledger.
static LEDGER: AtomicU64 = AtomicU64::new(0);

/// A ledger that is timed.
struct Timed<L>(L);

fn timed<T>(work: impl FnOnce() -> T) -> T {
    let clock = Clock::start();
    let done = work();
    LEDGER.fetch_add((clock.wall() * 1e9) as u64, Ordering::Relaxed);
    done
}

impl<L: Ledger> Ledger for Timed<L> {
    fn stored(&self, grant: GrantId, request: &[u8; 32]) -> Result<Option<Stored>, Refusal> {
        timed(|| self.0.stored(grant, request))
    }

    fn take_up(
        &mut self,
        offer: &CheckedOffer,
        accounts: Accounts,
        roll: &dyn Fn() -> Roll,
        ended: Ended,
    ) -> Result<GrantId, Refusal> {
        timed(|| self.0.take_up(offer, accounts, roll, ended))
    }

    fn retired(&self, grant: GrantId, squared: f64) -> Option<Vec<bool>> {
        timed(|| self.0.retired(grant, squared))
    }

    fn reserve(
        &mut self,
        grant: GrantId,
        entry: Entry,
        noise: NoiseKind,
    ) -> Result<Ticket, Refusal> {
        timed(|| self.0.reserve(grant, entry, noise))
    }

    fn commit(&mut self, ticket: Ticket, reply: &[u8], hash: [u8; 32]) -> Result<Receipt, Refusal> {
        timed(|| self.0.commit(ticket, reply, hash))
    }

    fn close(&mut self, grant: GrantId) -> Result<(), Refusal> {
        timed(|| self.0.close(grant))
    }

    fn spent(&self, grant: GrantId) -> Option<Mu> {
        self.0.spent(grant)
    }

    fn receipts(&self, grant: GrantId) -> Vec<Receipt> {
        self.0.receipts(grant)
    }

    fn columns(&self) -> Option<&StoreColumns> {
        self.0.columns()
    }

    fn delta(&self) -> Option<f64> {
        self.0.delta()
    }

    fn list(&self) -> Option<([u8; 32], u64)> {
        self.0.list()
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
