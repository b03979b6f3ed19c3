//! Why a store does not pay.

use crate::discrete::{MOST_NUMBERS, SLACK};
use crate::error::PrivacyError;
use crate::rounding;

/// Everything a ledger refuses. Nothing was read, paid or released then. No reason depends on `s`.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The store's operator does not allow it.
    #[error(
        "the attributes store refuses: its policy allows the {what} {allowed}, not {given}; nothing was released"
    )]
    Policy {
        /// `methods`, `modes` or `notions`.
        what: &'static str,
        /// What was offered.
        given: String,
        /// What is allowed.
        allowed: String,
    },
    /// Less is left than was asked for.
    #[error(
        "the attributes store refuses: asked for: {}; left: {} of {} (made for epsilon {epsilon} at \
         delta {delta:e}), after {} that is spent or promised; nothing was released",
        .pot.amount(rounding::up(*.asked, 6)),
        .pot.amount(rounding::down(*.left, 6)),
        .pot.words(),
        .pot.amount(rounding::up(*.spent, 6))
    )]
    Budget {
        /// Which pot or share.
        pot: Pot,
        /// What was spent or promised, in the unit of the pot.
        spent: f64,
        /// What was asked for.
        asked: f64,
        /// What is left.
        left: f64,
        /// What the pot or share was made for.
        epsilon: f64,
        /// What the pot or share was made for.
        delta: f64,
    },
    /// The grant was opened for another kind of message, or keeps other accounts.
    #[error("the attributes store refuses: its grant is not for this kind of message or account")]
    Kind,
    /// A cost that is no number, negative or infinite, or a unit dearer than the dearest.
    #[error("the attributes store refuses: a cost must be a finite number of at least 0")]
    Cost,
    /// The noise of integers would add up to too much.
    #[error("the attributes store refuses: the slack of integer noise would exceed {SLACK:e}")]
    Slack,
    /// Too many numbers for one store.
    #[error(
        "the attributes store refuses: it would have sent more than {MOST_NUMBERS} noisy numbers"
    )]
    Numbers,
    /// A promise that the store has already broken, or would break one that it has made.
    #[error("the attributes store refuses: {}; nothing was released", revealed_words(*.already))]
    Revealed {
        /// True where `s` was revealed before, false where revealing it now would break a promise.
        already: bool,
    },
    /// A run that promised secret noise came with noise from a seed.
    #[error(
        "the attributes store refuses: its grant is for noise from the operating system, and this \
         comes from a seed"
    )]
    Noise,
    /// The grant was closed.
    #[error("the attributes store refuses: its grant is closed; open another")]
    Closed,
    /// No such grant.
    #[error("the attributes store refuses: it has given no grant of this name")]
    Unknown,
    /// The same request was answered before: its reply can be sent again at no cost.
    #[error("the attributes store refuses: this request was answered; send the stored reply again")]
    Repeated,
    /// A run of this name was opened before, for something else or to its end.
    #[error(
        "the attributes store refuses: a run of the name {0} was opened before, with another offer, \
         with other records, or to its end; a new run needs a new name"
    )]
    Run(String),
    /// Too many runs at a time.
    #[error(
        "the attributes store refuses: {most} run(s) may be open at a time, and these are: {open}; \
         close one first"
    )]
    OpenRuns {
        /// Their names.
        open: String,
        /// How many the policy allows.
        most: u32,
    },
    /// A server that goes back.
    #[error(
        "the attributes store refuses: round {asked} of a run whose round {last} was answered; \
         rounds go on, and only the same question gets the same reply"
    )]
    Round {
        /// What was asked for.
        asked: u32,
        /// What was answered.
        last: u32,
    },
    /// Records that do not fit those of earlier runs.
    #[error("the attributes store refuses its list of records: {0}")]
    Roll(&'static str),
    /// Columns that are no columns of a store, or not those that its owner named.
    #[error("the attributes store refuses its columns: {0}")]
    Columns(String),
    /// A ledger whose owner has not said what its columns are.
    #[error(
        "the attributes store refuses: its ledger does not say which columns are sensitive and who is who; \
         `steffle ledger columns` adds them, once: the sensitive columns, their classes, the column of \
         record ids and, where a person can have several rows, the column that names the person"
    )]
    NoColumns,
    /// A list of records of which the store knows none, although it knows others.
    #[error(
        "the attributes store refuses its list of records: it knows {known} record(s), and none of the \
         {listed} on the list; were ids renamed, the same people would be paid for twice; if these are \
         new people, admit them: steffle ledger admit BOOK"
    )]
    Strangers {
        /// Records that it knows.
        known: usize,
        /// Records on the list.
        listed: usize,
    },
    /// A request for something else than the run was accepted for.
    #[error("the attributes store refuses: {0}; only what was offered is answered")]
    Act(String),
    /// A list of people that does not fit.
    #[error("the attributes store refuses its list of people: {0}")]
    List(&'static str),
    /// The book cannot be written or read.
    #[error("the attributes store stops: its book {0}")]
    Stopped(String),
    /// No accountant covers it.
    #[error("the attributes store refuses: {0}")]
    Privacy(#[from] PrivacyError),
}

/// What a cost is paid from.
///
/// A store's budget is split into them for life, and none lends to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pot {
    /// The store's pot of Gaussian messages, in mu.
    Gaussian,
    /// The store's pot of Gaussian messages as they are if all other sites help the server, in mu.
    Alone,
    /// The store's pot of sampled plans, in epsilon.
    Sampled,
    /// The store's pot of sampled plans, in delta.
    SampledDelta,
    /// The store's pot of pure releases, in epsilon.
    Pure,
    /// What one grant has for Gaussian messages, in mu.
    GaussianGrant,
    /// What one grant has for pure releases, in epsilon.
    PureGrant,
    /// The rounds of a grant's sampled plan.
    Rounds,
    /// What one round of a grant's sampled plan may cost, in mu.
    Round,
}

impl Refusal {
    /// The codes of refusals because of what a store's budget or policy leaves.
    pub const CODES_OF_BUDGET: [&'static str; 4] = [
        "steffle::ledger::policy",
        "steffle::ledger::budget",
        "steffle::ledger::revealed",
        "steffle::ledger::open_runs",
    ];

    /// The stable code of this refusal.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Policy { .. } => "steffle::ledger::policy",
            Self::Budget { .. } => "steffle::ledger::budget",
            Self::Kind => "steffle::ledger::kind",
            Self::Cost => "steffle::ledger::cost",
            Self::Slack => "steffle::ledger::slack",
            Self::Numbers => "steffle::ledger::numbers",
            Self::Revealed { .. } => "steffle::ledger::revealed",
            Self::Noise => "steffle::ledger::noise",
            Self::Closed => "steffle::ledger::closed",
            Self::Unknown => "steffle::ledger::unknown",
            Self::Repeated => "steffle::ledger::repeated",
            Self::Run(_) => "steffle::ledger::run",
            Self::OpenRuns { .. } => "steffle::ledger::open_runs",
            Self::Round { .. } => "steffle::ledger::round",
            Self::Roll(_) => "steffle::ledger::roll",
            Self::Columns(_) => "steffle::ledger::columns",
            Self::NoColumns => "steffle::ledger::no_columns",
            Self::Strangers { .. } => "steffle::ledger::strangers",
            Self::Act(_) => "steffle::ledger::act",
            Self::List(_) => "steffle::ledger::list",
            Self::Stopped(_) => "steffle::ledger::stopped",
            Self::Privacy(error) => error.code(),
        }
    }
}

impl Pot {
    fn amount(self, value: f64) -> String {
        match self {
            Self::Gaussian | Self::Alone | Self::GaussianGrant | Self::Round => {
                format!("mu {value}")
            }
            Self::Sampled | Self::Pure | Self::PureGrant => format!("epsilon {value}"),
            Self::SampledDelta => format!("delta {value:e}"),
            Self::Rounds => format!("{value} round(s)"),
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Gaussian => "its pot for Gaussian messages",
            Self::Alone => {
                "its pot for Gaussian messages if all other sites help the server (epsilon alone)"
            }
            Self::Sampled | Self::SampledDelta => "its pot for sampled plans",
            Self::Pure => "its pot for pure releases",
            Self::GaussianGrant => "the run's share for Gaussian messages",
            Self::PureGrant => "the run's share for pure releases",
            Self::Rounds => "the run's sampled plan",
            Self::Round => "one round of the run's sampled plan",
        }
    }
}

fn revealed_words(already: bool) -> &'static str {
    if already {
        "it has released s without secret noise before, so it can promise nothing any more"
    } else {
        "it has promised privacy to a run before, so it releases nothing without secret noise"
    }
}
