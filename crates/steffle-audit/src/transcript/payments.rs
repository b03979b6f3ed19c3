//! What a store sent and what its ledger paid for, side by side.

use steffle_privacy::ledger::{
    Book, Claim, Cost, Grant, Kind as Released, Offer, Receipt, Share, hexadecimal, largest_round,
};
use steffle_wire::{
    Closed, Decode, Encode, FeatureReply, NoisyCounts, Opening, PrivateSums, Reader, SumRoom,
    Writer,
};

use super::Kept;
use super::check::Findings;
use super::shape::SentPart;

/// A private reply of a node.
pub(super) struct Private {
    pub(super) frame: u64,
    pub(super) kind: Released,
    pub(super) round: u32,
    /// What left the node, where anything did.
    pub(super) part: Option<SentPart>,
}

impl Private {
    /// Whether an event is about such a reply.
    fn fits(&self, receipt: &Receipt) -> bool {
        receipt.kind == self.kind && receipt.round.is_none_or(|round| round == self.round)
    }

    /// Whether what was sent is what an event released, as a part of the sum over `sites` sites;
    /// `None` where that cannot be told.
    fn is(&self, receipt: &Receipt, sites: usize, kept: Option<&Kept<'_>>) -> Option<bool> {
        let (released, part) = (kept?.replies.get(&receipt.reply)?, self.part.as_ref()?);
        let reader = &mut Reader::new(released);
        let mut due = Writer::default();
        match self.kind {
            Released::Sums => {
                PrivateSums::decode(reader)
                    .ok()?
                    .summed(part.scale, sites, SumRoom::default())
                    .encode(&mut due);
            }
            Released::Features => FeatureReply::decode(reader).ok()?.summed(sites).encode(&mut due),
            Released::Counts => NoisyCounts::decode(reader).ok()?.summed(sites).encode(&mut due),
            Released::Classes => return None,
        }
        Some(due.finish() == part.bytes)
    }
}

/// Every private reply has one event, and every event one reply.
pub(super) fn compare(
    frame: u64,
    (replies, sites): (&[Private], usize),
    closed: &Closed,
    kept: Option<&Kept<'_>>,
    findings: &mut Findings,
) {
    let mut open: Vec<&Receipt> = closed.receipts.iter().collect();
    for reply in replies {
        let Private { frame, kind, round, .. } = reply;
        if let Some(at) = open.iter().position(|receipt| reply.fits(receipt)) {
            let receipt = open.remove(at);
            if reply.is(receipt, sites, kept) == Some(false) {
                let what = format!("this is not what {} released", named(receipt));
                findings.add(Some(*frame), what);
            }
        } else if !sent_before(reply, sites, kept) {
            let hint =
                if kept.is_none() { "; an earlier run may have: its book would tell" } else { "" };
            let what = format!(
                "a private reply ({kind:?}, round {round}) that no event of the ledger paid \
                 for{hint}"
            );
            findings.add(Some(*frame), what);
        }
    }
    for receipt in open {
        let what = format!("{} was paid for and no such reply was recorded", named(receipt));
        findings.add(Some(frame), what);
    }
}

/// Whether an earlier run paid for this reply: the same question gets the same bytes at no cost.
fn sent_before(reply: &Private, sites: usize, kept: Option<&Kept<'_>>) -> bool {
    let grants = kept.into_iter().flat_map(|kept| kept.book.grants());
    let mut receipts = grants.flat_map(Grant::receipts).filter(|receipt| reply.fits(receipt));
    receipts.any(|receipt| reply.is(receipt, sites, kept).unwrap_or(true))
}

/// Sums of costs are off by less: a relative 2^-50 per event.
const ROUNDING: f64 = 1e-9;

/// The costs stay within what was offered.
pub(super) fn within(frame: u64, opening: &Opening, closed: &Closed, findings: &mut Findings) {
    let mut wrong = |what: String| findings.add(Some(frame), what);
    let share = match opening.offer.clone().check() {
        Ok(offer) => offer.share(),
        Err(error) => return wrong(format!("the offer makes no promise: {error}")),
    };
    let costs = closed.receipts.iter();
    match share {
        Share::Nothing => {}
        Share::Gaussian { squared: allowed, .. } => {
            let total = costs.fold(0.0, |sum, receipt| match receipt.cost {
                Cost::Gaussian { squared, .. } => sum + squared,
                Cost::Free => sum,
                _ => f64::INFINITY,
            });
            // With accounts of their own, people who have spent theirs are left out of later
            // replies.
            let one = opening.by_record.is_none() && opening.blocks.is_none();
            let spent = closed.spent.unwrap_or(0.0).powi(2);
            let total = if one { total } else { spent };
            if total > allowed * (1.0 + ROUNDING) {
                let (total, allowed) = (total.sqrt(), allowed.sqrt());
                wrong(format!("its events cost mu {total:.6}, and the plan allows {allowed:.6}"));
            }
        }
        Share::Pure { epsilon: allowed } => {
            let total = costs.fold(0.0, |sum, receipt| match receipt.cost {
                Cost::Pure { epsilon } => sum + epsilon,
                Cost::Free => sum,
                _ => f64::INFINITY,
            });
            if total > allowed * (1.0 + ROUNDING) {
                wrong(format!("its events cost epsilon {total}, and the plan allows {allowed}"));
            }
        }
        Share::Sampled { event, .. } => {
            let most = largest_round(&event);
            let planned = |receipt: &&Receipt| matches!(receipt.cost, Cost::Planned { squared, .. } if squared <= most);
            for receipt in costs.clone().filter(|receipt| !planned(receipt)) {
                wrong(format!("{} is no round of the plan", named(receipt)));
            }
            let (events, rounds) = (costs.len() as u64, event.rounds.count());
            if events > rounds {
                wrong(format!("{events} events, and the plan has {rounds} rounds"));
            }
        }
    }
}

/// What the store's own book says of the run.
pub(super) fn agrees(
    frames: (u64, u64),
    run: &str,
    offer: &Offer,
    closed: &Closed,
    book: &Book,
    findings: &mut Findings,
) {
    let (opened, ended) = frames;
    let Some((_, grant)) = book.run(run) else {
        return findings.add(Some(opened), format!("the book knows no run {run}"));
    };
    if grant.offer().offer() != offer {
        findings.add(Some(opened), "the book was offered something else".to_owned());
    }
    for receipt in &closed.receipts {
        match grant.receipts().iter().find(|own| own.sequence == receipt.sequence) {
            Some(own) if own == receipt => {}
            Some(own) => findings
                .add(Some(ended), format!("{} is {} in the book", named(receipt), named(own))),
            None => findings.add(Some(ended), format!("{} is not in the book", named(receipt))),
        }
    }
    for own in grant.receipts() {
        if !closed.receipts.iter().any(|receipt| receipt.sequence == own.sequence) {
            findings.add(
                Some(ended),
                format!("{} of the book is not among those that the store told", named(own)),
            );
        }
    }
}

/// What the store's own book says of a run under masks: the same offer, and as many events.
pub(super) fn counts(
    (opened, ended): (u64, u64),
    run: &str,
    offer: &Offer,
    closed: &Closed,
    book: &Book,
    findings: &mut Findings,
) {
    let Some((_, grant)) = book.run(run) else {
        return findings.add(Some(opened), format!("the book knows no run {run}"));
    };
    if grant.offer().offer() != offer {
        findings.add(Some(opened), "the book was offered something else".to_owned());
    }
    let (own, told) = (grant.receipts().len(), closed.receipts.len());
    if own != told {
        findings.add(Some(ended), format!("{told} event(s) were told, and the book has {own}"));
    }
}

/// An event, for people.
fn named(receipt: &Receipt) -> String {
    let Receipt { sequence, kind, round, cost, reply, .. } = receipt;
    let round = round.map_or_else(String::new, |round| format!(", round {round}"));
    let cost = match cost {
        Cost::Free => "free".to_owned(),
        Cost::Gaussian { squared, .. } | Cost::Planned { squared, .. } => {
            format!("mu {:.6}", squared.sqrt())
        }
        Cost::Pure { epsilon } => format!("epsilon {epsilon}"),
        Cost::Revealed => "no claim".to_owned(),
    };
    let hash: String = hexadecimal(reply).chars().take(8).collect();
    format!("event {sequence} ({kind:?}{round}, {cost}, reply {hash})")
}

/// Whether an offer promises anything.
pub(super) fn claims(offer: &Offer) -> bool {
    offer.claim != Claim::Nothing
}
