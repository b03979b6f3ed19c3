//! Books whose lines and replies a test can read.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use steffle_privacy::Mu;
use steffle_privacy::ledger::{
    Accounts, Backing, Book, Bookkeeper, CheckedOffer, Ended, Entry, GrantId, Ledger, Line,
    NoiseKind, Policy, Receipt, Refusal, Roll, StoreColumns, Stored, Ticket,
};

/// Everything that a book wrote, in order, with the replies that it kept.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    pub(crate) lines: Vec<Line>,
    replies: HashMap<u64, Vec<u8>>,
}

impl Kept {
    /// A reply, by its reservation.
    pub(crate) fn reply(&self, reservation: u64) -> Option<&[u8]> {
        self.replies.get(&reservation).map(Vec::as_slice)
    }
}

/// Keeps lines in memory, as if they lasted: rolls are written down.
#[derive(Debug, Default)]
pub(crate) struct Lasting(Arc<Mutex<Kept>>);

impl Backing for Lasting {
    const LASTS: bool = true;

    fn write(&mut self, line: &Line, reply: Option<&[u8]>) -> Result<(), String> {
        let mut kept = lock(&self.0);
        if let (Line::Commit { reservation, .. }, Some(reply)) = (line, reply) {
            kept.replies.insert(*reservation, reply.to_vec());
        }
        kept.lines.push(line.clone());
        Ok(())
    }

    fn reply(&self, reservation: u64) -> Result<Option<Vec<u8>>, String> {
        Ok(lock(&self.0).replies.get(&reservation).cloned())
    }
}

/// What the first world paid for and released.
#[derive(Debug, Default)]
pub(crate) struct Overheard {
    /// All that was paid for.
    pub(crate) paid: Vec<(Entry, NoiseKind)>,
    /// Replies that the other world was not asked for yet.
    pub(crate) waiting: HashMap<[u8; 32], Waiting>,
    /// Replies that both worlds sent.
    pub(crate) echoed: u64,
}

/// A reply as it was paid for and kept.
#[derive(Debug)]
pub(crate) struct Waiting {
    entry: Entry,
    noise: NoiseKind,
    reply: Vec<u8>,
    hash: [u8; 32],
}

/// What a book does beside keeping its lines.
#[derive(Debug, Clone)]
pub(crate) enum Does {
    /// It is overheard.
    Speaks(Arc<Mutex<Overheard>>),
    /// What another one released it releases too, for the same price.
    Echoes(Arc<Mutex<Overheard>>),
    /// Nothing else.
    Keeps,
    /// It writes down other people than those whom a run is about: it is spoiled, and must be caught.
    ChargesOthers,
}

/// A book that several nodes can have, one after the other.
#[derive(Debug, Clone)]
pub(crate) struct SharedBook {
    keeper: Arc<Mutex<Bookkeeper<Lasting>>>,
    pub(crate) kept: Arc<Mutex<Kept>>,
    columns: StoreColumns,
    does: Does,
}

impl SharedBook {
    /// An empty book of a store of real people, or of made-up ones.
    pub(crate) fn new(policy: Policy, columns: &StoreColumns, does: Does) -> Self {
        let kept = Arc::new(Mutex::new(Kept::default()));
        let mut keeper = Bookkeeper::new(Book::new(policy).unwrap(), Lasting(kept.clone()));
        keeper.name_columns(columns).unwrap();
        Self { keeper: Arc::new(Mutex::new(keeper)), kept, columns: columns.clone(), does }
    }

    /// What the pots of Gaussian and of pure releases were made with: mu^2 and epsilon.
    pub(crate) fn pots(&self) -> (f64, f64) {
        let balance = self.keeper().book().balance(None).expect("a book with a policy");
        (balance.gaussian.whole.powi(2), balance.pure.whole)
    }

    fn keeper(&self) -> MutexGuard<'_, Bookkeeper<Lasting>> {
        lock(&self.keeper)
    }
}

impl Ledger for SharedBook {
    fn stored(&self, grant: GrantId, request: &[u8; 32]) -> Result<Option<Stored>, Refusal> {
        let mut keeper = self.keeper();
        if let Some(stored) = keeper.stored(grant, request)? {
            return Ok(Some(stored));
        }
        let Does::Echoes(overheard) = &self.does else { return Ok(None) };
        let mut overheard = lock(overheard);
        let Some(waiting) = overheard.waiting.remove(request) else { return Ok(None) };
        let Waiting { entry, noise, reply, hash } = waiting;
        let ticket = keeper.reserve(grant, entry, noise)?;
        keeper.commit(ticket, &reply, hash)?;
        overheard.echoed += 1;
        Ok(Some(Stored { reply, noise }))
    }

    fn take_up(
        &mut self,
        offer: &CheckedOffer,
        accounts: Accounts,
        roll: &dyn Fn() -> Roll,
        ended: Ended,
    ) -> Result<GrantId, Refusal> {
        let spoiled = matches!(self.does, Does::ChargesOthers);
        let roll = || {
            let Roll { mut ids, units, people } = roll();
            if spoiled {
                ids.iter_mut().for_each(|id| *id += 1_000_000);
            }
            Roll { ids, units, people }
        };
        self.keeper().take_up(offer, accounts, &roll, ended)
    }

    fn retired(&self, grant: GrantId, squared: f64) -> Option<Vec<bool>> {
        self.keeper().retired(grant, squared)
    }

    fn reserve(
        &mut self,
        grant: GrantId,
        entry: Entry,
        noise: NoiseKind,
    ) -> Result<Ticket, Refusal> {
        let ticket = self.keeper().reserve(grant, entry.clone(), noise)?;
        if let Does::Speaks(overheard) = &self.does {
            lock(overheard).paid.push((entry, noise));
        }
        Ok(ticket)
    }

    fn commit(&mut self, ticket: Ticket, reply: &[u8], hash: [u8; 32]) -> Result<Receipt, Refusal> {
        let receipt = self.keeper().commit(ticket, reply, hash)?;
        if let Does::Speaks(overheard) = &self.does {
            let mut overheard = lock(overheard);
            let paid = overheard.paid.iter().rev().find(|(own, _)| own.request == receipt.request);
            if let Some((entry, noise)) = paid.cloned() {
                let waiting = Waiting { entry, noise, reply: reply.to_vec(), hash };
                overheard.waiting.insert(receipt.request, waiting);
            }
        }
        Ok(receipt)
    }

    fn close(&mut self, grant: GrantId) -> Result<(), Refusal> {
        self.keeper().close(grant)
    }

    fn spent(&self, grant: GrantId) -> Option<Mu> {
        self.keeper().spent(grant)
    }

    fn receipts(&self, grant: GrantId) -> Vec<Receipt> {
        self.keeper().receipts(grant)
    }

    fn columns(&self) -> Option<&StoreColumns> {
        Some(&self.columns)
    }

    fn delta(&self) -> Option<f64> {
        self.keeper().delta()
    }

    fn list(&self) -> Option<([u8; 32], u64)> {
        self.keeper().list()
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
