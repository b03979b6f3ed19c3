//! The rules: what a line may say after those before it. A book is nothing but the sum of its lines,
//! so the same function decides what is refused and reads a book again after a crash.

use std::collections::BTreeMap;

use super::account::Account;
use super::budget::{Balance, Policy, Pots, Taken};
use super::columns::StoreColumns;
use super::cost::{Cost, Entry, GrantId, NoiseKind, Receipt};
use super::grant::Grant;
use super::line::Line;
use super::offer::{Accounts, CheckedOffer, Share};
use super::refusal::Refusal;
use super::roll::{People, Roll};
use crate::discrete::{MOST_NUMBERS, SLACK};
use crate::error::PrivacyError;
use crate::rounding::sum_up;

/// Why a list is refused that does not have everybody whom runs were about.
pub(super) const MISSING: &str = "records that earlier runs were about are missing from it; a list has \
                                  everybody who is in the ledger";

/// What the lines of a store's book add up to. Not `Clone`: a copy would have the budget twice.
#[derive(Debug, Default)]
pub struct Book {
    policy: Option<Policy>,
    columns: Option<StoreColumns>,
    /// The hash and the records of the list of people that was accepted last.
    list: Option<([u8; 32], u64)>,
    /// The owner admits a list of records of which none is known.
    admitted: bool,
    /// None until the first claiming offer, where there is no policy.
    pots: Option<Pots>,
    people: People,
    /// What closed grants about everybody keep.
    everybody: Taken,
    grants: Vec<Grant>,
    /// Requests whose replies were kept, by the roll that they were about: the same question about
    /// other records is another one.
    answered: BTreeMap<(Option<u32>, [u8; 32]), (u64, NoiseKind)>,
    /// Reservations that may still be committed.
    pending: BTreeMap<u64, Receipt>,
    reserved: u64,
    slack: f64,
    numbers: u64,
    /// Something left that claims nothing, or whose noise somebody knows. Never both this and
    /// `promised`.
    revealed: bool,
    /// A run was promised privacy with secret noise.
    promised: bool,
}

impl Book {
    /// An empty book of a store whose operator has set its budget. Refuses a policy that makes no
    /// promise. Unless the policy allows simulations, the store is private from its first day: a
    /// budget would be worth nothing beside an offer that claims nothing.
    pub fn new(policy: Policy) -> Result<Self, PrivacyError> {
        let (pots, promised) = (Some(Pots::of(&policy)?), !policy.simulations);
        Ok(Self { policy: Some(policy), pots, promised, ..Self::default() })
    }

    /// Never accepts seeded noise, nor a run that claims nothing.
    pub(super) fn private_only(&mut self) {
        self.promised = true;
    }

    /// Adds a line, or refuses it and stays as it was.
    pub fn apply(&mut self, line: &Line) -> Result<(), Refusal> {
        match line {
            Line::Columns(columns) => self.name_columns(columns),
            Line::List { hash, records } => self.accept_list(*hash, *records),
            Line::Admit => {
                self.admitted = true;
                Ok(())
            }
            Line::Roll(roll) => self.enrol(roll),
            Line::Open { offer, accounts, roll } => self.open(offer, *accounts, *roll),
            Line::Reserve { grant, noise, entry } => self.reserve(*grant, *noise, entry),
            Line::Commit { reservation, request, reply } => {
                self.commit(*reservation, request, *reply)
            }
            Line::Close { grant } => self.close(*grant),
            Line::Torn { .. } => {
                self.pending.clear();
                Ok(())
            }
        }
    }

    fn name_columns(&mut self, columns: &StoreColumns) -> Result<(), Refusal> {
        if self.columns.is_some() {
            return Err(Refusal::Columns(
                "they are named already, for the life of the store: `steffle ledger show` shows them".into(),
            ));
        }
        self.columns = Some(columns.clone());
        Ok(())
    }

    /// Takes a list in place of the one before. Refuses one while a run is open, whose people would
    /// change under it, and one of fewer records than runs were about.
    fn accept_list(&mut self, hash: [u8; 32], records: u64) -> Result<(), Refusal> {
        if self.open_grants().next().is_some() {
            return Err(Refusal::List("a run is open; let it end, or close it, first"));
        }
        if records < self.people().1 as u64 {
            return Err(Refusal::List(MISSING));
        }
        self.list = Some((hash, records));
        Ok(())
    }

    /// Puts a roll down; one of strangers uses up what admitted them.
    fn enrol(&mut self, roll: &Roll) -> Result<(), Refusal> {
        let strangers = self.strangers(&roll.ids) && !self.people.knows_person(&roll.people);
        self.people.enrol(roll)?;
        self.admitted &= !strangers;
        Ok(())
    }

    /// Whether the store knows others, and none of these records.
    pub(super) fn strangers(&self, ids: &[u64]) -> bool {
        self.people.units() > 0 && !ids.is_empty() && !ids.iter().any(|id| self.people.knows(*id))
    }

    /// Whether one of these people was ever named.
    pub(super) fn knows_person(&self, people: &[u64]) -> bool {
        self.people.knows_person(people)
    }

    /// Whether the owner admits a list of records of which none is known.
    pub fn admitted(&self) -> bool {
        self.admitted
    }

    fn open(
        &mut self,
        offer: &CheckedOffer,
        accounts: Accounts,
        roll: Option<u32>,
    ) -> Result<(), Refusal> {
        let about = roll.map(|roll| self.people.listed(roll).ok_or(Refusal::Kind)).transpose()?;
        let (pots, account) = self.opens(offer, accounts, about)?;
        self.pots = pots;
        self.promised |= offer.claims() && offer.offer().noise == NoiseKind::Secure;
        let (offer, receipts) = (offer.clone(), Vec::new());
        let (closed, replies, round) = (false, 0, None);
        self.grants.push(Grant {
            offer,
            accounts,
            roll,
            account,
            closed,
            receipts,
            replies,
            round,
        });
        Ok(())
    }

    /// Refuses an offer about a roll that is not written down yet, for the reasons that its two lines
    /// would be refused for.
    pub(super) fn would_open(
        &self,
        offer: &CheckedOffer,
        accounts: Accounts,
        roll: &Roll,
    ) -> Result<(), Refusal> {
        let units = self.people.check(roll)?;
        self.opens(offer, accounts, Some(&units)).map(drop)
    }

    /// The pots and the account of an offer about these units (`None` is everybody), or why it is
    /// refused.
    fn opens(
        &self,
        offer: &CheckedOffer,
        accounts: Accounts,
        about: Option<&[Option<u32>]>,
    ) -> Result<(Option<Pots>, Account), Refusal> {
        let asked = offer.offer();
        if let Some(policy) = &self.policy {
            policy.allows(offer)?;
            let open = self.open_grants().filter(|grant| grant.offer.claims());
            if offer.claims() && open.clone().count() >= policy.open_runs as usize {
                let names: Vec<&str> = open.map(|grant| grant.offer.offer().run.as_str()).collect();
                let (open, most) = (names.join(", "), policy.open_runs);
                return Err(Refusal::OpenRuns { open, most });
            }
        }
        asked.fits()?;
        if !asked.run.is_empty() && self.run(&asked.run).is_some() {
            return Err(Refusal::Run(asked.run.clone()));
        }
        if let (Accounts::Units(count), Some(units)) = (accounts, about)
            && count as usize != units.len()
        {
            return Err(Refusal::Kind);
        }
        let private = offer.claims() && asked.noise == NoiseKind::Secure;
        if private && self.revealed {
            return Err(Refusal::Revealed { already: true });
        }
        if !private && self.promised {
            return Err(Refusal::Revealed { already: false });
        }
        let account = Account::new(offer, accounts)?;
        if !offer.claims() {
            return Ok((self.pots, account));
        }
        let pots = self.pots.unwrap_or_else(|| Pots::of_first(offer));
        pots.fits(&self.taken(about), offer.share())?;
        Ok((Some(pots), account))
    }

    /// The most that any of these units (of all without a list) has taken from each pot.
    fn taken(&self, about: Option<&[Option<u32>]>) -> Taken {
        let of = |grant: &Grant| (grant.roll, grant.offer.share());
        let (everybody, listed): (Vec<_>, Vec<_>) =
            self.open_grants().map(of).partition(|(roll, _)| roll.is_none());
        let listed: Vec<(u32, Share)> =
            listed.into_iter().filter_map(|(roll, share)| Some((roll?, share))).collect();
        let most = self.people.most_taken(about, &listed).plus(self.everybody);
        everybody.into_iter().fold(most, |taken, (_, share)| taken.and(share))
    }

    fn reserve(&mut self, grant: GrantId, noise: NoiseKind, entry: &Entry) -> Result<(), Refusal> {
        let promised = self.promised;
        let (slack, numbers) = entry.cost.integers();
        if entry.cost != Cost::Revealed && self.answered(grant, &entry.request).is_some() {
            return Err(Refusal::Repeated);
        }
        if !entry.cost.valid() {
            return Err(Refusal::Cost);
        }
        let slack = sum_up(self.slack, slack);
        if slack > SLACK {
            return Err(Refusal::Slack);
        }
        let numbers = self.numbers.checked_add(numbers).ok_or(Refusal::Numbers)?;
        if numbers > MOST_NUMBERS {
            return Err(Refusal::Numbers);
        }
        let unnumbered = self.unnumbered(grant);
        let paying = self.grant_mut(grant)?;
        if paying.closed {
            return Err(Refusal::Closed);
        }
        if let (Some(asked), Some(last)) = (entry.round, paying.round)
            && asked <= last
        {
            return Err(Refusal::Round { asked, last });
        }
        let claims = paying.offer.claims();
        let secret = paying.offer.offer().noise == NoiseKind::Secure;
        if claims && secret && noise == NoiseKind::Simulation {
            return Err(Refusal::Noise);
        }
        // A grant may be older than the promise that forbids its use.
        let reveals = match entry.cost {
            Cost::Revealed => true,
            _ => claims && noise == NoiseKind::Simulation,
        };
        if reveals && promised {
            return Err(Refusal::Revealed { already: false });
        }
        if entry.cost != Cost::Free {
            paying.offer.offer().allows(entry.kind, entry.round, unnumbered)?;
        }
        paying.account.pay(entry)?;
        paying.replies += 1;
        (self.slack, self.numbers) = (slack, numbers);
        self.revealed |= reveals;
        self.reserved += 1;
        // What claims nothing is counted only.
        if entry.cost != Cost::Revealed {
            self.pending.insert(self.reserved, receipt(self.reserved, grant, entry, noise));
        }
        Ok(())
    }

    /// Paid replies of a grant that belong to no round: kept, or about to be.
    fn unnumbered(&self, grant: GrantId) -> usize {
        let kept = self.grant(grant).map_or(&[][..], |paying| &paying.receipts);
        let pending = self.pending.values().filter(|receipt| receipt.grant == grant);
        let counts = |receipt: &&Receipt| receipt.round.is_none() && receipt.cost != Cost::Free;
        kept.iter().chain(pending).filter(counts).count()
    }

    fn commit(
        &mut self,
        reservation: u64,
        request: &[u8; 32],
        reply: [u8; 32],
    ) -> Result<(), Refusal> {
        let pending = self.pending.get(&reservation);
        let pending = pending.filter(|pending| pending.request == *request);
        let pending = pending.ok_or(Refusal::Unknown)?;
        if self.answered(pending.grant, &pending.request).is_some() {
            return Err(Refusal::Repeated);
        }
        let receipt = Receipt { reply, ..pending.clone() };
        let grant = self.grant_mut(receipt.grant)?;
        grant.round = grant.round.max(receipt.round);
        grant.receipts.push(receipt.clone());
        let about = (grant.roll, receipt.request);
        self.answered.insert(about, (reservation, receipt.noise));
        self.pending.remove(&reservation);
        Ok(())
    }

    fn close(&mut self, grant: GrantId) -> Result<(), Refusal> {
        let at = usize::try_from(grant.0).map_err(|_| Refusal::Unknown)?;
        let grant = self.grants.get_mut(at).ok_or(Refusal::Unknown)?;
        if grant.closed {
            return Err(Refusal::Closed);
        }
        grant.closed = true;
        let (share, account) = (grant.offer.share(), &grant.account);
        match grant.roll {
            Some(roll) => self.people.keep(roll, |at| account.keeps(share, Some(at))),
            None => self.everybody = self.everybody.and(account.keeps(share, None)),
        }
        grant.account.settle();
        Ok(())
    }

    /// A grant.
    pub fn grant(&self, grant: GrantId) -> Result<&Grant, Refusal> {
        let at = usize::try_from(grant.0).map_err(|_| Refusal::Unknown)?;
        self.grants.get(at).ok_or(Refusal::Unknown)
    }

    fn grant_mut(&mut self, grant: GrantId) -> Result<&mut Grant, Refusal> {
        let at = usize::try_from(grant.0).map_err(|_| Refusal::Unknown)?;
        self.grants.get_mut(at).ok_or(Refusal::Unknown)
    }

    /// All grants, in the order in which they were opened.
    pub fn grants(&self) -> &[Grant] {
        &self.grants
    }

    fn open_grants(&self) -> impl Iterator<Item = &Grant> + Clone {
        self.grants.iter().filter(|grant| !grant.closed)
    }

    /// The grant of a run of this name.
    pub fn run(&self, name: &str) -> Option<(GrantId, &Grant)> {
        let named = |(_, grant): &(u64, &Grant)| grant.offer.offer().run == name;
        (0..).zip(&self.grants).find(named).map(|(at, grant)| (GrantId(at), grant))
    }

    /// The number of a roll that was written down before.
    pub(super) fn known(&self, roll: &Roll) -> Option<u32> {
        self.people.known(roll)
    }

    /// The reservation of a kept reply about the records of a grant, and where its noise came from.
    pub(super) fn answered(&self, grant: GrantId, request: &[u8; 32]) -> Option<(u64, NoiseKind)> {
        let roll = self.grant(grant).ok()?.roll;
        self.answered.get(&(roll, *request)).copied()
    }

    /// What the receipt of the last reservation will say, but for the reply.
    pub(super) fn reserved(&self, grant: GrantId, entry: &Entry, noise: NoiseKind) -> Receipt {
        receipt(self.reserved, grant, entry, noise)
    }

    /// Whether a reservation may still be committed.
    pub(super) fn is_pending(&self, reservation: u64) -> bool {
        self.pending.contains_key(&reservation)
    }

    /// Whether something was released without secret noise, so that nothing can be promised.
    pub fn revealed(&self) -> bool {
        self.revealed
    }

    /// Replies that were kept.
    pub fn replies(&self) -> usize {
        self.answered.len()
    }

    /// Reservations that were paid for and never committed.
    pub fn unsent(&self) -> u64 {
        let receipts = self.grants.iter().map(|grant| grant.receipts.len() as u64);
        let paid: u64 = self.grants.iter().map(|grant| grant.replies).sum();
        paid.saturating_sub(receipts.sum())
    }

    /// Units and records that runs were ever about.
    pub fn people(&self) -> (usize, usize) {
        (self.people.units(), self.people.ids().count())
    }

    /// Ids of all records that runs were ever about.
    pub fn ids(&self) -> impl Iterator<Item = u64> + '_ {
        self.people.ids()
    }

    /// The delta of the policy, where there is one.
    pub(super) fn delta(&self) -> Option<f64> {
        self.policy.as_ref().map(|policy| policy.delta)
    }

    /// The columns that the store's owner named.
    pub fn columns(&self) -> Option<&StoreColumns> {
        self.columns.as_ref()
    }

    /// The hash of the list of people that the store's owner accepted last, and its records.
    pub fn list(&self) -> Option<([u8; 32], u64)> {
        self.list
    }

    /// What is in the pots for the unit that has spent most, of one roll or of all; `None` before
    /// there are pots.
    pub fn balance(&self, roll: Option<u32>) -> Option<Balance> {
        let about = roll.and_then(|roll| self.people.listed(roll));
        Some(self.pots?.balance(&self.taken(about)))
    }

    /// What is in the pots for whoever joins now.
    pub fn balance_of_new(&self) -> Option<Balance> {
        Some(self.pots?.balance(&self.everybody))
    }

    /// Records and units of a roll.
    pub fn roll_size(&self, roll: u32) -> Option<(usize, usize)> {
        self.people.size(roll)
    }
}

fn receipt(sequence: u64, grant: GrantId, entry: &Entry, noise: NoiseKind) -> Receipt {
    let &Entry { request, fresh, round, kind, cost, .. } = entry;
    Receipt { sequence, grant, request, fresh, round, kind, cost, noise, reply: [0; 32] }
}
