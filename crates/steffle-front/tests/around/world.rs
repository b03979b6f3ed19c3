//! Sites of made-up people, read from real files, in worlds that differ in one cell of the sensitive
//! column.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use steffle::node::{Allows, Holding, MaskPolicy, Masking, Node};
use steffle_data::{Error, Job, Measures, Recipe, Schema, Silo, Site, Summary};
use steffle_masks::{Identity, Journal, Memory, Roster, hash};
use steffle_privacy::ledger::Ledger;

use crate::dice::Dice;

/// Sites with records.
pub(crate) const SITES: usize = 3;
/// The column that the worlds differ in.
pub(crate) const SENSITIVE: &str = "sex";
pub(crate) const CLASSES: [&str; 2] = ["female", "male"];
/// All columns of the files.
pub(crate) const COLUMNS: [&str; 8] =
    ["record_id", "person", "age", "income", "job", "region", "sex", "hired"];

/// Who has s, and where it lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Each site has s in its data file.
    Whole,
    /// Each site has s in a file of its own.
    Beside,
    /// One holder has s of everybody, and its own list of people.
    Elsewhere,
}

/// How a federation is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Setting {
    pub(crate) layout: Layout,
    /// The sites are places of a `job.toml`, and have no `silo.toml` of their own.
    pub(crate) by_job: bool,
    /// Whether sums are added up under masks.
    pub(crate) masked: bool,
    /// Whether several rows can be about one person.
    pub(crate) units: bool,
}

impl Setting {
    /// All that can be; under masks every site has both divisions.
    pub(crate) fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for layout in [Layout::Whole, Layout::Beside, Layout::Elsewhere] {
            for bits in 0..8 {
                let (by_job, masked, units) = (bits & 1 > 0, bits & 2 > 0, bits & 4 > 0);
                if !(masked && layout == Layout::Elsewhere) {
                    all.push(Self { layout, by_job, masked, units });
                }
            }
        }
        all
    }

    /// Parties in all.
    pub(crate) fn parties(self) -> usize {
        SITES + usize::from(self.layout == Layout::Elsewhere)
    }

    /// Whether the party at a place has s.
    pub(crate) fn holds(self, place: usize) -> bool {
        self.layout != Layout::Elsewhere || place == SITES
    }
}

/// A row of somebody's file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) id: u64,
    pub(crate) person: u64,
    pub(crate) sex: String,
    /// All other values are made of it.
    pub(crate) salt: u64,
}

/// What the people of all sites are, by site.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct People(pub(crate) Vec<Vec<Row>>);

impl People {
    /// So many rows per site; every third person has two rows.
    pub(crate) fn new(rows: u64) -> Self {
        let site = |site: u64| {
            let row = |at: u64| {
                let salt = (site * rows + at) * 7919 + 13;
                let person = 1000 * site + at - u64::from(at % 6 == 1);
                let sex = CLASSES[(salt / 11 % 2) as usize].to_owned();
                Row { id: 100 * (site + 1) + at, person, sex, salt }
            };
            (0..rows).map(row).collect()
        };
        Self((0..SITES as u64).map(site).collect())
    }

    /// The same with another value in one cell.
    pub(crate) fn with(&self, site: usize, row: usize, sex: &str) -> Self {
        let mut changed = self.clone();
        sex.clone_into(&mut changed.0[site][row].sex);
        changed
    }
}

/// Another value of the sensitive column: a class, a missing or undeclared value, or text that a reader of
/// files could stumble over.
pub(crate) fn other_value(dice: &mut Dice, before: &str) -> String {
    let other = CLASSES.into_iter().find(|class| *class != before).unwrap_or_default();
    let odd = [
        "",
        "undeclared-7",
        "NA",
        "?",
        "a;b;c;d",
        "a\tb\tc",
        "say \"hi\"",
        "1,5",
        "3.25",
        "2020-01-02",
        "3/4/2020",
        "1e400",
        "-",
        " female",
        "MALE ",
        "\u{feff}",
        "\u{202e}elam",
        "NaN",
        "(missing)",
        "(other)",
        "female x male",
        "#N/A",
        "'",
        "\\",
        "sex",
        "null",
        "\u{0}",
        "0",
        "true",
    ];
    match dice.below(3) {
        0 => other.to_owned(),
        1 => (*dice.of(&odd)).to_owned(),
        _ if dice.percent(90) => other.to_owned(),
        _ => "x".repeat(5000),
    }
}

/// A cell as CSV has it.
fn quoted(cell: &str) -> String {
    if cell.contains(['"', ',', '\n', '\r', '\t', ';', ' ']) || cell.is_empty() {
        return format!("\"{}\"", cell.replace('"', "\"\""));
    }
    cell.to_owned()
}

/// Files of a world in a folder of their own, removed when the world ends.
pub(crate) struct Files {
    pub(crate) folder: PathBuf,
    setting: Setting,
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Files {
    /// Writes the files of all parties and what says what they mean.
    pub(crate) fn write(folder: &Path, setting: Setting, people: &People, recipe: &Recipe) -> Self {
        fs::create_dir_all(folder).unwrap();
        let files = Self { folder: folder.to_path_buf(), setting };
        let whole = setting.layout == Layout::Whole;
        for (site, rows) in people.0.iter().enumerate() {
            fs::write(files.path("data", site), records(rows, whole)).unwrap();
            fs::write(files.path("attributes", site), attributes(rows)).unwrap();
        }
        let everybody: Vec<Row> = people.0.concat();
        fs::write(files.path("attributes", SITES), attributes(&everybody)).unwrap();
        fs::write(files.path("people", SITES), list(&everybody)).unwrap();
        fs::write(files.path("data", SITES), records(&people.0[0], true)).unwrap();
        files.say(recipe);
        files
    }

    pub(crate) fn path(&self, what: &str, site: usize) -> PathBuf {
        self.folder.join(format!("{what}{site}.csv"))
    }

    /// Writes `job.toml` or every `silo.toml`.
    pub(crate) fn say(&self, recipe: &Recipe) {
        let recipe = toml::to_string(recipe).unwrap();
        // Tables of a recipe are tables of its own.
        let recipe = recipe.replace("\n[", "\n[recipe.");
        let list = |what: &str, from: usize, to: usize| {
            let files: Vec<String> =
                (from..to).map(|site| format!("\"{what}{site}.csv\"")).collect();
            files.join(", ")
        };
        let (sites, layout) = (SITES, self.setting.layout);
        let holders = if layout == Layout::Elsewhere { (sites, sites + 1) } else { (0, sites) };
        let named = match layout {
            Layout::Whole => format!("silos = [{}]", list("data", 0, sites)),
            _ => format!(
                "records = [{}]\nattributes = [{}]",
                list("data", 0, sites),
                list("attributes", holders.0, holders.1)
            ),
        };
        let job = format!("version = 1\n{named}\ntest = \"data{sites}.csv\"\n[recipe]\n{recipe}");
        fs::write(self.folder.join("job.toml"), job).unwrap();
        for place in 0..self.setting.parties() {
            let held = match layout {
                Layout::Whole => format!("role = \"both\"\ndata = \"data{place}.csv\""),
                Layout::Beside => format!(
                    "role = \"both\"\ndata = \"data{place}.csv\"\nattributes = \"attributes{place}.csv\""
                ),
                Layout::Elsewhere if place == sites => format!(
                    "role = \"attributes\"\nattributes = \"attributes{place}.csv\"\n\
                     people = \"people{place}.csv\""
                ),
                Layout::Elsewhere => format!("role = \"records\"\ndata = \"data{place}.csv\""),
            };
            let silo = format!(
                "version = 1\nname = \"site {place}\"\n{held}\nledger = \"book\"\n[policy]\npool = true\n\
                 [recipe]\n{recipe}"
            );
            fs::write(self.folder.join(format!("silo{place}.toml")), silo).unwrap();
        }
    }

    /// The party at a place, read from its files, and what it allows.
    pub(crate) fn site(&self, place: usize) -> Result<(Site, Allows), Error> {
        if self.setting.by_job {
            let job = Job::read(&self.folder.join("job.toml"))?;
            let together = self.setting.layout == Layout::Beside;
            let site = Site::of_job(&job, place, together)?.expect("a place of the job");
            return Ok((site, Allows::default()));
        }
        let silo = Silo::read(&self.folder.join(format!("silo{place}.toml")))?;
        Ok((Site::of_silo(&silo)?, silo.allows()))
    }

    /// What all sites agree on.
    pub(crate) fn schema(&self) -> Result<Schema, Error> {
        let mut agreed: Option<(Recipe, Summary)> = None;
        for place in 0..SITES {
            let (site, _) = self.site(place)?;
            let data = site.records().expect("a site with records");
            let own = Summary::of(data, data.rows());
            match &mut agreed {
                None => agreed = Some((data.recipe().clone(), own)),
                Some((_, summary)) => summary.merge(&own)?,
            }
        }
        let (recipe, summary) = agreed.expect("sites");
        Schema::from_summary(&recipe, &summary)
    }

    /// What sites that meet under masks are asked to add up.
    pub(crate) fn measures(&self) -> Vec<u8> {
        let (site, _) = self.site(0).unwrap();
        let data = site.records().expect("a site with records");
        let summary = Summary::of(data, data.rows());
        Measures::of(&summary).counting(&[summary.without_numbers()]).to_bytes()
    }

    /// A node around what a site holds, with its book.
    pub(crate) fn node(
        &self,
        place: usize,
        holding: impl Holding + 'static,
        (allows, discreet): (Allows, bool),
        book: Box<dyn Ledger>,
    ) -> Node {
        let mut node = Node::new(holding).allowing(allows);
        if discreet {
            node = node.discreet();
        }
        if self.setting.holds(place) {
            node = node.keeping(book);
        }
        if self.setting.masked {
            node = node.masking(masking(place));
        }
        node
    }
}

/// Keys that the sites made themselves.
fn masking(place: usize) -> Masking {
    let name = |place: usize| format!("site {place}");
    let identity = |place: usize| Identity::new(&hash(&[b"around", name(place).as_bytes()]));
    let all = (0..SITES).map(|place| (identity(place).fingerprint(), name(place)));
    let roster = Roster::new(all).unwrap();
    let journal = Journal::new([], Box::new(Memory::new(name(place).as_bytes())));
    Masking::new(identity(place), roster, MaskPolicy::default(), journal)
}

/// What the owners of all files say their columns mean.
pub(crate) fn recipe(units: bool) -> Recipe {
    let mut recipe = Recipe::new("hired", &[SENSITIVE]).classes(&CLASSES).stratum("region");
    recipe.labels = vec!["no".to_owned(), "yes".to_owned()];
    recipe.record_id = Some("record_id".to_owned());
    if units {
        return recipe.unit("person");
    }
    recipe.without(&["person"])
}

fn records(rows: &[Row], with_s: bool) -> String {
    let mut csv = "record_id,person,age,income,job,region,hired".to_owned();
    csv += if with_s { ",sex\n" } else { "\n" };
    for Row { id, person, sex, salt } in rows {
        let (age, income) = (20 + salt % 47, (salt % 1009) as f64 / 8.0);
        let job = ["clerk", "cook", "nurse"][(salt / 3 % 3) as usize];
        let region = ["north", "south"][(salt / 5 % 2) as usize];
        let hired = if (salt / 7) % 2 == 0 { "yes" } else { "no" };
        write!(csv, "{id},p{person},{age},{income},{job},{region},{hired}").unwrap();
        if with_s {
            write!(csv, ",{}", quoted(sex)).unwrap();
        }
        csv.push('\n');
    }
    csv
}

fn attributes(rows: &[Row]) -> String {
    let mut csv = "record_id,person,sex\n".to_owned();
    for Row { id, person, sex, .. } in rows {
        writeln!(csv, "{id},p{person},{}", quoted(sex)).unwrap();
    }
    csv
}

pub(crate) fn list(rows: &[Row]) -> String {
    let mut csv = "record_id,person\n".to_owned();
    for Row { id, person, .. } in rows {
        writeln!(csv, "{id},p{person}").unwrap();
    }
    csv
}
