//! How sums over sites are added up: as they are, or under masks that hide what one site adds.

use serde::Serialize;
use steffle::protocol::MaskTerms;

use crate::Error;
use crate::leaves::Leaves;
use crate::method::{Entry, Method};
use crate::study::Study;

/// Fewest sites that add up under masks, where no site's own policy says two: of two, each knows what
/// the other added.
const FEWEST: usize = 3;
/// Most sites whose sums stay in their ring.
const MOST: usize = 127;

/// What is said of a run under masks.
///
/// Who learns what, and what leaves a site in the clear.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Aggregation {
    /// `pairwise-masks`.
    pub scheme: &'static str,
    /// Whether one machine makes all keys, so that nothing is hidden from it.
    pub simulated: bool,
    /// Sites that add up.
    pub sites: usize,
    /// Sites that may help the server without it learning what one other adds.
    pub colluders: usize,
    /// The name of the roster of keys, where sites have their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roster: Option<String>,
    /// What leaves a site in the clear.
    pub clear: Vec<String>,
}

impl Aggregation {
    /// Of a run under masks; refuses parties that cannot add up under them.
    pub(crate) fn new(entry: &Entry, study: &Study, leaves: &[Leaves]) -> Result<Self, Error> {
        let sites = study.sizes().len();
        let refuse = |message: String, help: &str| {
            Err(Error::conflict("secure-aggregation", message).with_help(help.to_owned()))
        };
        if study.is_split() {
            return refuse(
                format!(
                    "method {} has attributes elsewhere than records, and what goes between the two is \
                     about one silo",
                    entry.name
                ),
                "masks are for silos with both divisions: leave out <secure-aggregation> or \
                 <centralisation>",
            );
        }
        let enough = (FEWEST..=MOST).contains(&sites) || (sites == 2 && study.has_own_keys());
        if !enough {
            return refuse(
                format!(
                    "{sites} silo(s) add up; masks are for {FEWEST} to {MOST}, or for two whose own \
                     policies say so: of two, each knows what the other added"
                ),
                "more <silos>, or leave out <secure-aggregation>",
            );
        }
        Ok(Self {
            scheme: "pairwise-masks",
            simulated: !study.has_own_keys(),
            sites,
            colluders: colluders(sites).into(),
            roster: study.mask_roster(),
            clear: leaves.iter().map(|left| format!("{}: {}", left.step, left.what)).collect(),
        })
    }

    /// Who learns what, in words.
    pub(crate) fn in_words(&self) -> String {
        let Self { sites, colluders, .. } = self;
        let help = match colluders {
            0 => "whoever of the sites helps it gives away what the others added".to_owned(),
            _ => format!(
                "with the help of {colluders} it learns the sum over the other {}, not less",
                sites - colluders
            ),
        };
        let simulated = if self.simulated {
            " The masks are simulated: one machine makes all keys here, and could read everything."
        } else {
            ""
        };
        let clear: Vec<&str> = self.clear.iter().map(String::as_str).collect();
        format!(
            " The server receives sums over all {sites} sites, under masks; {help}, while X25519 and \
             ChaCha20 hold. Questions of the server's choice can single out records in these \
             sums.{simulated} In the clear leave a site {}.",
            clear.join("; ")
        )
    }
}

/// What sites sign in a run of a method under masks; `None` where it has none.
pub(crate) fn terms(method: &dyn Method, sites: usize) -> Option<MaskTerms> {
    let shared = method.shared_against(sites).map(|most| most as u16);
    let (colluders, noise) = (colluders(sites), method.noise());
    method.secure_aggregation().then_some(MaskTerms { colluders, noise, shared })
}

/// How many sites may help the server: fewer than half.
fn colluders(sites: usize) -> u16 {
    (sites.saturating_sub(1) / 2) as u16
}

/// What leaves a site of a run under masks in the clear.
pub(crate) fn leaves(study: &Study, names: &[Leaves]) -> Vec<Leaves> {
    let needed = |step, what, numbers| Leaves::new(step, what, numbers, "needed");
    let mut table: Vec<Leaves> = names.to_vec();
    if study.schema().recipe().unit.is_some() {
        table.push(needed("persons", "the most rows of one person", 1));
    }
    table.push(needed("hello", "a key and a nonce of the run, signed", 1));
    table.push(needed(
        "receipts",
        "how often the site's store answered, and the run's share of its budget",
        1,
    ));
    table.push(needed("refusals", "a code, and words about the question or the site's policy", 0));
    table
}
