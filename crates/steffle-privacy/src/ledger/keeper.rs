//! The one ledger there is: the rules of a [`Book`], and something that keeps its lines.

use std::collections::HashSet;

use super::book::{Book, MISSING};
use super::columns::StoreColumns;
use super::cost::{Cost, Entry, GrantId, NoiseKind, Receipt, Ticket};
use super::line::Line;
use super::offer::{Accounts, CheckedOffer};
use super::refusal::Refusal;
use super::roll::Roll;
use super::{Ended, Ledger, Stored};
use crate::quantity::Mu;

/// Where the lines and replies of a book are kept.
///
/// Memory for simulations, a file for real stores.
pub trait Backing: Send + Sync {
    /// Whether other runs may come after this process, about other records: rolls are then written
    /// down. Otherwise every run is about everybody.
    const LASTS: bool;

    /// Keeps a line for good, with the reply that it commits to. What it was written for may happen
    /// as soon as this returns. Says, in the words after "its book", why it could not.
    fn write(&mut self, line: &Line, reply: Option<&[u8]>) -> Result<(), String>;

    /// A reply that was kept, by its reservation.
    fn reply(&self, reservation: u64) -> Result<Option<Vec<u8>>, String>;
}

/// Applies the rules, keeps the lines, and then lets things happen.
///
/// # Claim
/// Nothing is paid, sent or promised that a later reader of the kept lines would not see.
///
/// # Proof
/// Every change of the book is a line, and a line is kept before the function that made it returns.
/// A line that could not be kept stops the keeper: whether it reached the disk is not known, so
/// nothing is granted, reserved or committed after it.
#[derive(Debug)]
pub struct Bookkeeper<B> {
    book: Book,
    pub(super) backing: B,
    /// Reservations of a process that ended before they were committed.
    left_over: Vec<(u64, Line)>,
    /// Records on lists that were checked in this process.
    introduced: HashSet<u64>,
    stopped: Option<String>,
}

impl<B: Backing> Bookkeeper<B> {
    /// For a book that is still empty.
    pub fn new(book: Book, backing: B) -> Self {
        Self { book, backing, left_over: Vec::new(), introduced: HashSet::new(), stopped: None }
    }

    /// For a book that has been kept before, from all its lines. Refuses lines that break the rules.
    ///
    /// A reservation without a commit is used once more for the same entry, with fresh noise:
    /// nothing is sent before its commit is kept, so that nothing of it was ever seen. After a torn
    /// line that is not known, and it stays spent.
    pub fn reopen(
        mut book: Book,
        lines: impl IntoIterator<Item = Line>,
        backing: B,
    ) -> Result<Self, Refusal> {
        let (mut left_over, mut reservations) = (Vec::new(), 0);
        for line in lines {
            book.apply(&line)?;
            if let Line::Reserve { .. } = line {
                reservations += 1;
                left_over.retain(|(sequence, _)| book.is_pending(*sequence));
                left_over.push((reservations, line));
            }
        }
        left_over.retain(|(sequence, _)| book.is_pending(*sequence));
        Ok(Self { book, backing, left_over, introduced: HashSet::new(), stopped: None })
    }

    /// What the lines add up to.
    pub fn book(&self) -> &Book {
        &self.book
    }

    pub(super) fn book_mut(&mut self) -> &mut Book {
        &mut self.book
    }

    /// Where they are kept.
    pub fn backing(&self) -> &B {
        &self.backing
    }

    /// Names the store's columns, once. The same ones again are nothing to do, others are refused.
    pub fn name_columns(&mut self, columns: &StoreColumns) -> Result<(), Refusal> {
        match self.book.columns() {
            Some(own) if own == columns => Ok(()),
            _ => self.write(&Line::Columns(columns.clone()), None),
        }
    }

    /// Takes the owner's list of the people in the store, by its hash; `ids` are the records on it.
    /// The same list again is nothing to do. Refuses another while a run is open, and one that lacks
    /// a record that runs were about or names one twice.
    pub fn accept_list(
        &mut self,
        hash: [u8; 32],
        ids: &mut dyn Iterator<Item = u64>,
    ) -> Result<(), Refusal> {
        let mut listed = HashSet::new();
        for id in ids {
            if !listed.insert(id) {
                return Err(Refusal::List("a record id stands on it twice"));
            }
        }
        if self.book.ids().any(|id| !listed.contains(&id)) {
            return Err(Refusal::List(MISSING));
        }
        let records = listed.len() as u64;
        if self.book.list() == Some((hash, records)) {
            return Ok(());
        }
        self.write(&Line::List { hash, records }, None)
    }

    fn write(&mut self, line: &Line, reply: Option<&[u8]>) -> Result<(), Refusal> {
        if let Some(why) = &self.stopped {
            return Err(Refusal::Stopped(why.clone()));
        }
        self.book.apply(line)?;
        self.backing.write(line, reply).map_err(|why| {
            self.stopped = Some(why.clone());
            Refusal::Stopped(why)
        })
    }

    /// Lets the next list of records in, although none of them is known.
    pub fn admit(&mut self) -> Result<(), Refusal> {
        if self.book.admitted() { Ok(()) } else { self.write(&Line::Admit, None) }
    }

    /// Checks a list of records before runs about parts of it: a store that knows people, and none
    /// of these, needs its owner's word. The runs of this process that are about records on the list
    /// are not checked again.
    pub fn introduce(&mut self, ids: &[u64]) -> Result<(), Refusal> {
        if ids.iter().all(|id| self.introduced.contains(id)) && !ids.is_empty() {
            return Ok(());
        }
        if self.book.strangers(ids) && !self.book.admitted() {
            let (known, listed) = (self.book.people().1, ids.len());
            return Err(Refusal::Strangers { known, listed });
        }
        self.introduced.extend(ids);
        Ok(())
    }

    /// A reservation that was left over, for the identical entry.
    fn take_left_over(&mut self, asked: &Line) -> Option<u64> {
        let at = self.left_over.iter().position(|(_, line)| line == asked)?;
        Some(self.left_over.swap_remove(at).0)
    }
}

impl<B: Backing> Ledger for Bookkeeper<B> {
    fn stored(&self, grant: GrantId, request: &[u8; 32]) -> Result<Option<Stored>, Refusal> {
        let Some((reservation, noise)) = self.book.answered(grant, request) else {
            return Ok(None);
        };
        let reply = self.backing.reply(reservation).map_err(Refusal::Stopped)?;
        let reply = reply.ok_or_else(|| Refusal::Stopped("lacks a reply that it kept".into()))?;
        Ok(Some(Stored { reply, noise }))
    }

    fn take_up(
        &mut self,
        offer: &CheckedOffer,
        accounts: Accounts,
        roll: &dyn Fn() -> Roll,
        ended: Ended,
    ) -> Result<GrantId, Refusal> {
        if B::LASTS && self.book.columns().is_none() {
            return Err(Refusal::NoColumns);
        }
        let roll = B::LASTS.then(roll);
        let known = roll.as_ref().and_then(|roll| self.book.known(roll));
        let is_new = roll.is_some() && known.is_none();
        let name = &offer.offer().run;
        if !name.is_empty()
            && let Some((id, grant)) = self.book.run(name)
        {
            let same = (grant.offer(), grant.accounts(), grant.roll()) == (offer, accounts, known);
            let goes_on = same && !is_new && (!grant.closed() || ended == Ended::AskedAgain);
            return if goes_on { Ok(id) } else { Err(Refusal::Run(name.clone())) };
        }
        let mut about = known;
        if let Some(roll) = roll.filter(|_| is_new) {
            // A refused offer leaves no trace: its list would be the list for life.
            self.book.would_open(offer, accounts, &roll)?;
            if !self.book.knows_person(&roll.people) {
                self.introduce(&roll.ids)?;
            }
            let line = Line::Roll(roll);
            self.write(&line, None)?;
            let Line::Roll(roll) = line else { return Err(Refusal::Kind) };
            about = self.book.known(&roll);
        }
        let id = GrantId(self.book.grants().len() as u64);
        self.write(&Line::Open { offer: offer.clone(), accounts, roll: about }, None)?;
        Ok(id)
    }

    fn retired(&self, grant: GrantId, squared: f64) -> Option<Vec<bool>> {
        self.book.grant(grant).ok()?.account().retired(squared)
    }

    fn reserve(
        &mut self,
        grant: GrantId,
        entry: Entry,
        noise: NoiseKind,
    ) -> Result<Ticket, Refusal> {
        let line = Line::Reserve { grant, noise, entry };
        let again = self.take_left_over(&line);
        if again.is_none() {
            self.write(&line, None)?;
        }
        let Line::Reserve { entry, .. } = line else { return Err(Refusal::Kind) };
        let receipt = self.book.reserved(grant, &entry, noise);
        let sequence = again.unwrap_or(receipt.sequence);
        Ok(Ticket { receipt: Receipt { sequence, ..receipt } })
    }

    fn commit(&mut self, ticket: Ticket, reply: &[u8], hash: [u8; 32]) -> Result<Receipt, Refusal> {
        let receipt = Receipt { reply: hash, ..ticket.receipt };
        // What claims nothing is counted only.
        if receipt.cost != Cost::Revealed {
            let (reservation, request) = (receipt.sequence, receipt.request);
            let line = Line::Commit { reservation, request, reply: hash };
            self.write(&line, Some(reply))?;
        }
        Ok(receipt)
    }

    fn close(&mut self, grant: GrantId) -> Result<(), Refusal> {
        self.write(&Line::Close { grant }, None)
    }

    fn spent(&self, grant: GrantId) -> Option<Mu> {
        self.book.grant(grant).ok()?.account().spent()
    }

    fn receipts(&self, grant: GrantId) -> Vec<Receipt> {
        self.book.grant(grant).map(|grant| grant.receipts().to_vec()).unwrap_or_default()
    }

    fn columns(&self) -> Option<&StoreColumns> {
        self.book.columns()
    }

    fn delta(&self) -> Option<f64> {
        self.book.delta()
    }

    fn list(&self) -> Option<([u8; 32], u64)> {
        self.book.list()
    }
}
