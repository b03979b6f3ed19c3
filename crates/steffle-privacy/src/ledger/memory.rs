//! A ledger that lives as long as its process.

use std::collections::BTreeMap;

use super::Ledger;
use super::account::Account;
use super::budget::{Policy, Pots, Taken};
use super::cost::{Cost, Entry, GrantId, NoiseKind, Receipt, Ticket};
use super::offer::{Accounts, CheckedOffer, Share};
use super::refusal::Refusal;
use crate::discrete::{MOST_NUMBERS, SLACK};
use crate::error::PrivacyError;
use crate::quantity::Mu;
use crate::rounding::sum_up;

/// The book of one attributes store, in memory. Not `Clone`: a copy would have the budget twice.
#[derive(Debug, Default)]
pub struct MemoryLedger {
    policy: Option<Policy>,
    /// None until the first claiming offer, where there is no policy.
    pots: Option<Pots>,
    grants: Vec<Grant>,
    /// Bytes of committed replies by request.
    replies: BTreeMap<[u8; 32], Vec<u8>>,
    reserved: u64,
    slack: f64,
    numbers: u64,
    /// Something left that claims nothing, or whose noise somebody knows. Never both this and
    /// `promised`.
    revealed: bool,
    /// A run was promised privacy with secret noise.
    promised: bool,
}

#[derive(Debug)]
struct Grant {
    share: Share,
    noise: NoiseKind,
    account: Account,
    closed: bool,
    receipts: Vec<Receipt>,
    replies: u64,
}

impl MemoryLedger {
    /// A store whose operator has set its budget. Refuses a policy that makes no promise. Unless the
    /// policy allows simulations, the store is [`private_only`](Self::private_only): a budget would
    /// be worth nothing beside an offer that claims nothing.
    pub fn with_policy(policy: Policy) -> Result<Self, PrivacyError> {
        let (pots, promised) = (Some(Pots::of(&policy)?), !policy.simulations);
        Ok(Self { policy: Some(policy), pots, promised, ..Self::default() })
    }

    /// A store of real people from its first day: it never accepts seeded noise, nor a run that
    /// claims nothing. Without this, that begins with the first private run.
    #[must_use]
    pub fn private_only(self) -> Self {
        Self { promised: true, ..self }
    }

    /// Whether something was released without secret noise, so that nothing can be promised.
    pub fn revealed(&self) -> bool {
        self.revealed
    }

    /// Replies that a grant has paid for, those that claim nothing included.
    pub fn replies(&self, grant: GrantId) -> Option<u64> {
        self.grant(grant).ok().map(|grant| grant.replies)
    }

    fn grant(&self, grant: GrantId) -> Result<&Grant, Refusal> {
        let at = usize::try_from(grant.0).map_err(|_| Refusal::Unknown)?;
        self.grants.get(at).ok_or(Refusal::Unknown)
    }

    fn grant_mut(&mut self, grant: GrantId) -> Result<&mut Grant, Refusal> {
        let at = usize::try_from(grant.0).map_err(|_| Refusal::Unknown)?;
        self.grants.get_mut(at).ok_or(Refusal::Unknown)
    }
}

impl Grant {
    /// What it keeps from its pot: a closed Gaussian grant the total of its dearest account, every
    /// other one its whole share.
    fn keeps(&self) -> Share {
        match (self.closed, self.account.dearest()) {
            (true, Some(squared)) => Share::Gaussian { squared },
            _ => self.share,
        }
    }
}

impl Ledger for MemoryLedger {
    fn stored(&self, request: &[u8; 32]) -> Option<&[u8]> {
        self.replies.get(request).map(Vec::as_slice)
    }

    fn open(&mut self, offer: &CheckedOffer, accounts: Accounts) -> Result<GrantId, Refusal> {
        if let Some(policy) = &self.policy {
            policy.allows(offer)?;
        }
        let private = offer.claims() && offer.offer().noise == NoiseKind::Secure;
        if private && self.revealed {
            return Err(Refusal::Revealed { already: true });
        }
        if !private && self.promised {
            return Err(Refusal::Revealed { already: false });
        }
        let share = offer.share();
        let account = Account::new(offer, accounts)?;
        if offer.claims() {
            let pots = self.pots.unwrap_or_else(|| Pots::of_first(offer));
            let taken =
                self.grants.iter().fold(Taken::default(), |taken, grant| taken.and(grant.keeps()));
            pots.fits(&taken, share)?;
            self.pots = Some(pots);
        }
        self.promised |= private;
        let id = GrantId(self.grants.len() as u64);
        let (noise, receipts) = (offer.offer().noise, Vec::new());
        self.grants.push(Grant { share, noise, account, closed: false, receipts, replies: 0 });
        Ok(id)
    }

    fn retired(&self, grant: GrantId, squared: f64) -> Option<Vec<bool>> {
        self.grant(grant).ok()?.account.retired(squared)
    }

    fn reserve(
        &mut self,
        grant: GrantId,
        entry: Entry,
        noise: NoiseKind,
    ) -> Result<Ticket, Refusal> {
        let promised = self.promised;
        let (slack, numbers) = entry.cost.integers();
        if entry.cost != Cost::Revealed && self.replies.contains_key(&entry.request) {
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
        let paying = self.grant_mut(grant)?;
        if paying.closed {
            return Err(Refusal::Closed);
        }
        let claims = paying.share != Share::Nothing;
        if claims && paying.noise == NoiseKind::Secure && noise == NoiseKind::Simulation {
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
        paying.account.pay(&entry)?;
        paying.replies += 1;
        (self.slack, self.numbers) = (slack, numbers);
        self.revealed |= reveals;
        self.reserved += 1;
        let Entry { request, fresh, kind, cost, .. } = entry;
        let (sequence, reply) = (self.reserved, [0; 32]);
        Ok(Ticket {
            receipt: Receipt { sequence, grant, request, fresh, kind, cost, noise, reply },
        })
    }

    fn commit(&mut self, ticket: Ticket, reply: &[u8], hash: [u8; 32]) -> Result<Receipt, Refusal> {
        let receipt = Receipt { reply: hash, ..ticket.receipt };
        if receipt.cost == Cost::Revealed {
            return Ok(receipt);
        }
        if self.replies.contains_key(&receipt.request) {
            return Err(Refusal::Repeated);
        }
        self.grant_mut(receipt.grant)?.receipts.push(receipt.clone());
        self.replies.insert(receipt.request, reply.to_vec());
        Ok(receipt)
    }

    fn close(&mut self, grant: GrantId) -> Result<(), Refusal> {
        let grant = self.grant_mut(grant)?;
        if grant.closed {
            return Err(Refusal::Closed);
        }
        grant.closed = true;
        Ok(())
    }

    fn spent(&self, grant: GrantId) -> Option<Mu> {
        self.grant(grant).ok()?.account.spent()
    }

    fn receipts(&self, grant: GrantId) -> Vec<Receipt> {
        self.grant(grant).map(|grant| grant.receipts.clone()).unwrap_or_default()
    }
}
