//! What a site says to others of what it refused, and under masks at the end: nothing that was found in
//! its data, and nothing that is about its records alone.

use steffle_privacy::ledger::{Cost, GrantId, Offer, Share};
use steffle_wire::{Closed, Kind, Refused};

use super::Node;
use super::mask::CODE;

/// Refusals that keep their words: these depend on the question, on what the site's owner set, and on what
/// all sites saw, and on nothing else. Whoever adds one shows that of all its words; a code that is not here,
/// such as one that is new, is told without any. The words are in the site's own log
/// ([`Node::remarks`](super::Node::remarks)).
///
/// Not here, and why:
/// - of the book: `budget` has what a reply would cost and what was spent before, which is about this site's
///   records; `open_runs` names runs of others; `roll`, `list` and `strangers` are about the
///   list of records; `columns` names columns of this site; `stopped` has the
///   book's place on disk;
/// - `steffle::privacy`, and what is below it: a number that was out of range may be a price;
/// - of the node: `attributes`, `cap`, `ids`, `model`, `range`, `records`, `response`, `schema`, `scores` are
///   found out when records are at hand, and some say how many there are; `journal` may say where it lies;
/// - `steffle::one_shot` and `steffle::data`: columns, their entries and files of this site.
const WITH_WORDS: [&str; 20] = [
    // Rosters, meetings and the site's own limits.
    CODE,
    // What stands in the site's file, beside what the offer says.
    "steffle::node::policy",
    // How many sites an offer shares noise between, and how many there are.
    "steffle::node::shares",
    // The operating system has no random numbers.
    "steffle::node::entropy",
    // The question is not due after those before it.
    Refused::STATE,
    // The question's bytes.
    Refused::MESSAGE,
    // What the book's policy names, beside what the offer says.
    "steffle::ledger::policy",
    // The offer's own words beside what is asked for, and the round.
    "steffle::ledger::act",
    // One sentence each, which says what the code says.
    "steffle::ledger::no_columns",
    "steffle::ledger::closed",
    "steffle::ledger::cost",
    "steffle::ledger::kind",
    "steffle::ledger::noise",
    "steffle::ledger::numbers",
    "steffle::ledger::repeated",
    "steffle::ledger::slack",
    "steffle::ledger::unknown",
    // One of two sentences, by whether runs before this one had secret noise: what they agreed on.
    "steffle::ledger::revealed",
    // The last round that was answered, and the one that is asked for.
    "steffle::ledger::round",
    // The name that the offer has.
    "steffle::ledger::run",
];

impl Node {
    /// The same for a site: others are told a code and words from a list, and never what was found in its
    /// data. The words are in its remarks.
    #[must_use]
    pub fn discreet(mut self) -> Self {
        self.discreet = true;
        self
    }

    /// What it refused since this was asked last, in full: for the log of the site, and nobody else.
    pub fn remarks(&mut self) -> Vec<String> {
        std::mem::take(&mut self.remarks)
    }

    /// The same under masks.
    pub(super) fn told_under_masks(&mut self, refused: Refused, kind: Kind) -> Refused {
        self.remarks.push(refused.to_string());
        unsaid(refused, kind)
    }

    /// A refusal as others are told, and a remark of it.
    pub(super) fn told(&mut self, refused: Refused) -> Refused {
        self.remarks.push(refused.to_string());
        told(refused)
    }
}

/// The code of a refusal under masks that tells nothing but that there is one.
const UNSAID: &str = "steffle::node::unsaid";

/// A refusal as others are told under masks. Once a run is open, which of two reasons it was may depend on
/// records: a scale that is too small for the price is refused by the ledger, and one for which records
/// reach too far by the division. Whoever chooses the scale would learn which came first, and by that how
/// far the records of one site reach. So both are told in the same words, under the same code.
fn unsaid(refused: Refused, kind: Kind) -> Refused {
    let refused = told(refused);
    if kind == Kind::Open || WITH_WORDS.contains(&refused.code.as_str()) {
        return refused;
    }
    let text =
        "this site cannot answer, and does not say why; its owner finds the reason in its log";
    Refused::new(UNSAID, text)
}

/// A refusal as others are told: words that could be about records stay here.
pub(super) fn told(refused: Refused) -> Refused {
    if WITH_WORDS.contains(&refused.code.as_str()) {
        return refused;
    }
    if refused.code == Refused::IDS {
        // Two nodes of the roster, or none.
        let text =
            "record ids do not fit together: an id is one record, and on the holder's own list";
        return Refused { text: text.to_owned(), ..refused };
    }
    let text = if refused.code.starts_with("steffle::ledger::") {
        "this site's ledger does not allow it, and nothing was released; `steffle ledger show` tells its \
         owner why"
    } else {
        "this site cannot answer, and does not say why; its owner finds the reason in its log"
    };
    Refused::new(refused.code, text)
}

/// What a store says of a run that ended, under masks: how often it answered, and its share. What single
/// replies cost depends on its records alone, and the hash of a short one could be guessed.
pub(super) fn told_at_the_end(closed: Closed, offer: Offer) -> Result<Closed, Refused> {
    let Closed { mut receipts, spent } = closed;
    let all = match offer.check()?.share() {
        Share::Gaussian { squared, .. } => squared,
        Share::Nothing | Share::Sampled { .. } | Share::Pure { .. } => 0.0,
    };
    let each = all / receipts.len().max(1) as f64;
    for (receipt, number) in receipts.iter_mut().zip(1..) {
        // How often the store answered anybody is its own.
        (receipt.reply, receipt.sequence, receipt.grant) = ([0; 32], number, GrantId(0));
        match &mut receipt.cost {
            Cost::Gaussian { squared, slack, .. } => (*squared, *slack) = (each, 0.0),
            // What a message of a plan would have cost alone depends on records, too.
            Cost::Planned { squared, slack, .. } => (*squared, *slack) = (0.0, 0.0),
            Cost::Free | Cost::Pure { .. } | Cost::Revealed => {}
        }
    }
    Ok(Closed { receipts, spent: spent.map(|_| all.sqrt()) })
}

#[cfg(test)]
mod tests;
