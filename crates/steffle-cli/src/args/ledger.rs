//! What was typed after `steffle ledger`.

use std::path::PathBuf;

use clap::Subcommand;

/// Keep the budget of a store: the table of record ids and sensitive attributes of one organisation.
#[derive(Debug, Subcommand)]
pub(crate) enum LedgerCommand {
    Init(LedgerInitArgs),
    Columns(LedgerColumnsArgs),
    People(LedgerPeopleArgs),
    Admit(LedgerAdmitArgs),
    Show(LedgerShowArgs),
    Verify(LedgerVerifyArgs),
    Close(LedgerCloseArgs),
    Export(LedgerExportArgs),
}

/// Begin the budget book of a store, once in its life
///
/// A store is the table of record ids and sensitive attributes of one organisation. Its book says
/// how much privacy the people in it may ever lose, by all runs together, and every run writes down
/// what it spends. The budget and the rules of the book are for the life of the store: there is no
/// command that raises them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  steffle ledger init people.ledger --epsilon 3 --delta 1e-6 \\
      --sensitive sex --classes f,m --record-id person_id
  steffle ledger init people.ledger --epsilon 3 --delta 1e-6 --silo silo.toml
  steffle ledger init people.ledger --policy policy.toml --silo silo.toml \\
      --head /mnt/other/people.head
  steffle ledger init books --silos 3 --epsilon 3 --delta 1e-6 \\
      --sensitive sex --classes f,m --record-id person_id

A policy file is TOML with epsilon, delta and, where wanted, epsilon_alone, pure_share, sampled_share,
methods, modes, notions (lists of names; an empty one allows all), open_runs and simulations.")]
pub(crate) struct LedgerInitArgs {
    /// The book to make; with --silos a folder
    pub(crate) path: PathBuf,
    /// The most epsilon that all runs together may ever spend
    #[arg(
        long,
        value_name = "E",
        allow_negative_numbers = true,
        requires = "delta",
        required_unless_present = "policy"
    )]
    pub(crate) epsilon: Option<f64>,
    /// The delta that goes with it
    #[arg(long, value_name = "D", allow_negative_numbers = true, requires = "epsilon")]
    pub(crate) delta: Option<f64>,
    /// The most epsilon that runs may ever spend if all other sites help the server, where sites
    /// share noise [default: epsilon, which shares no noise]
    #[arg(long, value_name = "E", allow_negative_numbers = true, requires = "epsilon")]
    pub(crate) epsilon_alone: Option<f64>,
    /// The part of epsilon kept for randomised response
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true, default_value_t = 0.0)]
    pub(crate) pure_share: f64,
    /// The part of epsilon and delta kept for mode poisson
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true, default_value_t = 0.0)]
    pub(crate) sampled_share: f64,
    /// Methods that may ask (repeat or separate by commas) [default: all]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) methods: Vec<String>,
    /// Modes that may ask [default: all]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) modes: Vec<String>,
    /// Fairness notions that may be asked about [default: all]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) notions: Vec<String>,
    /// All of this from a file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["epsilon", "delta", "epsilon_alone", "pure_share", "sampled_share", "methods", "modes", "notions"])]
    pub(crate) policy: Option<PathBuf>,
    /// A second place, on another disk or machine, that notices when an older copy of the book is
    /// put in its place; with --silos a folder
    #[arg(long, value_name = "FILE")]
    pub(crate) head: Option<PathBuf>,
    /// One book per silo, for runs that play several silos on one machine
    #[arg(long, value_name = "N")]
    pub(crate) silos: Option<usize>,
    #[command(flatten)]
    pub(crate) columns: ColumnsArgs,
}

/// The columns of a store, as its owner names them.
#[derive(Debug, clap::Args)]
pub(crate) struct ColumnsArgs {
    /// Sensitive columns (repeat or separate by commas)
    #[arg(
        long,
        value_name = "COLUMN",
        value_delimiter = ',',
        required_unless_present = "silo",
        requires_all = ["classes", "record_id"]
    )]
    pub(crate) sensitive: Vec<String>,
    /// Classes of the sensitive columns, in their order
    #[arg(long, value_name = "NAME", value_delimiter = ',', requires = "sensitive")]
    pub(crate) classes: Vec<String>,
    /// The column of record ids
    #[arg(long, value_name = "COLUMN", requires = "sensitive")]
    pub(crate) record_id: Option<String>,
    /// The column that names the person, where a person can have several rows
    #[arg(long, value_name = "COLUMN", requires = "sensitive")]
    pub(crate) unit: Option<String>,
    /// Take the columns from the [recipe] of this silo.toml
    #[arg(long, value_name = "FILE", conflicts_with_all = ["sensitive", "classes", "record_id", "unit"])]
    pub(crate) silo: Option<PathBuf>,
}

/// Name the columns of a store whose book was made before books did
///
/// The book alone says which columns are sensitive, their classes, and which columns say who a row is
/// about. They are named once: the same again is nothing to do, others are refused.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  steffle ledger columns people.ledger --sensitive sex --classes f,m --record-id person_id
  steffle ledger columns people.ledger --silo silo.toml")]
pub(crate) struct LedgerColumnsArgs {
    /// A book, or a folder of books
    pub(crate) path: PathBuf,
    #[command(flatten)]
    pub(crate) columns: ColumnsArgs,
}

/// Accept the list of people of a site that holds attributes alone
///
/// Such a site is asked by record id. Its own list says who may be asked about and which records are one
/// person's, and the ledger charges everybody on it. Accept it when the book is made and whenever people
/// are added; nobody is ever taken away.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  steffle ledger people people.ledger --silo silo.toml
  steffle ledger people people.ledger --silo silo.toml --list people.csv")]
pub(crate) struct LedgerPeopleArgs {
    /// The book
    pub(crate) path: PathBuf,
    /// The site's own file, which names the list
    #[arg(long, value_name = "FILE")]
    pub(crate) silo: PathBuf,
    /// Write this list into a silo.toml that names none yet
    #[arg(long, value_name = "FILE")]
    pub(crate) list: Option<PathBuf>,
}

/// Admit a list of people of whom the store knows none
///
/// A store that knows people refuses a list without any of them, because the same people under new
/// ids would be paid for twice. This admits the next such list, once.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  steffle ledger admit people.ledger")]
pub(crate) struct LedgerAdmitArgs {
    /// A book, or a folder of books
    pub(crate) path: PathBuf,
}

/// What was asked when, by which run, what it cost and what is left
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  steffle ledger show people.ledger
  steffle ledger show people.ledger --json | jq .epsilon_spent
  steffle ledger show books --html books.html")]
pub(crate) struct LedgerShowArgs {
    /// A book, or a folder of books
    pub(crate) path: PathBuf,
    /// Write a page with a chart; the file appears when it is complete
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

/// Check every line of a book: hashes, chain, rules, budget, second head
///
/// Ends with status 3 when anything is wrong, and says which line.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  steffle ledger verify people.ledger
  steffle ledger verify people.ledger --run runs/adult-1")]
pub(crate) struct LedgerVerifyArgs {
    /// A book, or a folder of books
    pub(crate) path: PathBuf,
    /// A run directory: also check that its receipts are those of the book
    #[arg(long, value_name = "DIR")]
    pub(crate) run: Option<PathBuf>,
}

/// End a run that nobody will go on with, so that what it never asked for is there for others
///
/// A run that died keeps its share of the budget, because it may be resumed. Closed, it keeps what it
/// had reserved, sent or not, and cannot be resumed any more. A run that is under way has the book in use,
/// and is not closed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  steffle ledger close people.ledger 5f0c2a7be1d94402a63c1f9d8e7b0a15")]
pub(crate) struct LedgerCloseArgs {
    /// A book, or a folder of books
    pub(crate) path: PathBuf,
    /// The run, as `silo check` and `ledger show` name it
    pub(crate) run: String,
}

/// Print a book as JSON for others: no record ids, no replies, nothing per person
///
/// Every line keeps its hash, so that a copy that was exported earlier shows whether the book was
/// changed since.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  steffle ledger export people.ledger > people-2027.json")]
pub(crate) struct LedgerExportArgs {
    /// A book, or a folder of books
    pub(crate) path: PathBuf,
}
