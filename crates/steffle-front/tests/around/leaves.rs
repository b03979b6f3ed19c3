//! Nothing leaves but what was paid for.
//!
//! # What this proves
//! For every message and file that was tried, a site sends the same bytes whatever one cell of its
//! sensitive column says. Two worlds have the same files but for that cell, and get the same messages. In
//! the second world the book gives out what the first one released and paid for, so that all bytes can be
//! compared: replies, refusals, letters, descriptions, receipts. A third world has the cell of the second
//! and noise of its own: it pays the same price for the same replies, so that no price depends on s.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use steffle_data::{Recipe, Schema};
use steffle_privacy::ledger::{NoiseKind, Policy, StoreColumns};

use crate::dice::Dice;
use crate::honest::{Conversation, Script, agreement, record};
use crate::mutate;
use crate::spoiled::Spoil;
use crate::talk::{Talk, World};
use crate::world::{CLASSES, Files, People, SENSITIVE, SITES, Setting, other_value, recipe};

/// What became of what was sent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    /// Messages and files that were changed.
    pub(crate) mutated: u64,
    /// Those of them that were taken.
    pub(crate) accepted: u64,
    /// Runs that a store agreed to.
    pub(crate) opened: u64,
    /// Replies about s that were paid for.
    pub(crate) released: u64,
}

impl Tally {
    pub(crate) fn add(mut self, other: &Self) -> Self {
        self.mutated += other.mutated;
        self.accepted += other.accepted;
        self.opened += other.opened;
        self.released += other.released;
        self
    }
}

/// The columns that the owners of the stores named.
pub(crate) fn columns(units: bool) -> StoreColumns {
    let unit = units.then(|| "person".to_owned());
    StoreColumns::new([SENSITIVE], CLASSES, "record_id", unit).unwrap()
}

/// A book of real people that has room for several runs of every kind.
pub(crate) fn policy() -> Policy {
    Policy {
        pure_share: 0.3,
        sampled_share: 0.2,
        epsilon_alone: Some(60.0),
        ..Policy::of(20.0, 1e-3)
    }
}

/// Rows per site.
const ROWS: u64 = 14;

/// The honest runs of every setting.
pub(crate) fn recorded(at: usize) -> &'static [Conversation] {
    static RECORDED: OnceLock<Vec<OnceLock<Vec<Conversation>>>> = OnceLock::new();
    let all = RECORDED.get_or_init(|| Setting::all().iter().map(|_| OnceLock::new()).collect());
    all[at].get_or_init(|| {
        let setting = Setting::all()[at];
        let folder = folder(&format!("recorded-{at}"));
        let files = Files::write(&folder, setting, &People::new(ROWS), &recipe(setting.units));
        let schema = files.schema().unwrap();
        let conversation = |(run, script): (u8, Script)| {
            let world = World::new(&files, setting, None, (true, None)).unwrap();
            let agreed = agreement(script, &schema, run, NoiseKind::Secure);
            record(world.nodes, (setting, files.measures()), script, agreed)
        };
        (1..).zip(Script::of(setting)).map(conversation).collect()
    })
}

/// A folder of this process.
pub(crate) fn folder(name: &str) -> std::path::PathBuf {
    let own = format!("around-{}", std::process::id());
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(own).join(name)
}

/// What the owner of all files says, in other words; s and its classes stay what they are.
pub(crate) fn other_recipe(dice: &mut Dice, own: &Recipe) -> Option<Recipe> {
    let mut changed = serde_json::to_value(own).ok()?;
    for _ in 0..=dice.below(2) {
        mutate::schema(dice, &mut changed);
    }
    let mut changed: Recipe = serde_json::from_value(changed).ok()?;
    (changed.sensitive, changed.classes) = (own.sensitive.clone(), own.classes.clone());
    toml::to_string(&changed).ok().map(|_| changed)
}

/// Files of two worlds that differ in one cell.
struct Case {
    setting: Setting,
    /// The party that has the cell.
    place: usize,
    /// What the cell says.
    cells: [String; 2],
    /// Whether the owner's names were changed.
    renamed: bool,
    folder: PathBuf,
    files: [Files; 2],
}

impl Drop for Case {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Case {
    fn new(dice: &mut Dice, setting: Setting, name: &str) -> Self {
        let people = People::new(ROWS);
        let (site, row) = (dice.below(SITES), dice.below(ROWS as usize));
        let before = people.0[site][row].sex.clone();
        let after = other_value(dice, &before);
        let own = recipe(setting.units);
        let other = dice.percent(12).then(|| other_recipe(dice, &own)).flatten();
        let renamed = other.is_some();
        let meaning = other.unwrap_or(own);
        let folder = folder(name);
        let changed = people.with(site, row, &after);
        let files = [("one", people), ("two", changed)]
            .map(|(world, people)| Files::write(&folder.join(world), setting, &people, &meaning));
        let place = if setting.holds(site) { site } else { SITES };
        Self { setting, place, cells: [before, after], renamed, folder, files }
    }

    /// Where the files of the worlds lie.
    fn places(&self) -> [String; 2] {
        ["one", "two"].map(|world| self.folder.join(world).to_string_lossy().into_owned())
    }

    /// A message without the place where a world's files lie.
    fn normal(&self, text: &str) -> String {
        let [one, two] = self.places();
        text.replace(&two, &one)
    }

    /// Three worlds: the second echoes the first, the third pays for itself. `None` where no site can
    /// start, for the same reason in all of them.
    fn worlds(&self, discreet: bool, spoil: Spoil) -> Result<Option<[World; 3]>, String> {
        let world = |at: usize, heard: Option<&[_]>| {
            let spoiled = (spoil != Spoil::No).then_some((self.place, spoil, &*self.cells[at]));
            World::new(&self.files[at], self.setting, heard, (discreet, spoiled))
                .map_err(|error| self.normal(&error))
        };
        let first = world(0, None);
        let heard = first.as_ref().ok().map(|world| world.heard.clone());
        match (first, world(1, heard.as_deref()), world(1, None)) {
            (Ok(one), Ok(two), Ok(three)) => Ok(Some([one, two, three])),
            (Err(one), Err(two), Err(_)) if one == two => Ok(None),
            (one, two, _) => Err(format!("sites start: {:?} and {:?}", one.err(), two.err())),
        }
    }

    /// What sites agree on where the owner's names were changed.
    fn schema(&self) -> Result<Option<Schema>, String> {
        if !self.renamed {
            return Ok(None);
        }
        let agreed = |files: &Files| files.schema().map_err(|why| self.normal(&why.to_string()));
        match (agreed(&self.files[0]), agreed(&self.files[1])) {
            (one, two) if one == two => Ok(one.ok()),
            differ => Err(format!("what sites declare differs: {differ:?}")),
        }
    }

    /// A cell that no log may tell: one that is no name of a class, and no name at all.
    fn secret(&self) -> Option<String> {
        let cell = &self.cells[1];
        let class = |class: &&str| cell.trim().eq_ignore_ascii_case(class);
        let told = cell.len() > 4 && !CLASSES.iter().any(class) && !cell.contains(" x ");
        told.then(|| cell.clone())
    }
}

/// One sequence of messages to two worlds that differ in one cell. Says what left in one of them alone.
pub(crate) fn sequence(number: u64, spoil: Spoil) -> Result<Tally, String> {
    let mut dice = Dice::new(number);
    let at = dice.below(Setting::all().len());
    let setting = Setting::all()[at];
    let case = Case::new(&mut dice, setting, &format!("{number}-{spoil:?}"));
    let finding = |what: String| {
        let after = &case.cells[1];
        format!("sequence {number}, {setting:?}, s `{after}`: {what}")
    };
    let renamed = u64::from(case.renamed);
    let mut tally = Tally { mutated: renamed, ..Tally::default() };
    let worlds = case.worlds(dice.percent(50), spoil).map_err(finding)?;
    let Some(worlds) = worlds else { return Ok(tally) };
    tally.accepted += renamed;
    let schema = case.schema().map_err(finding)?;
    let mut talk = Talk::new((worlds, case.places()), case.secret(), schema, tally);
    let runs = recorded(at);
    for _ in 0..=dice.below(2) {
        let conversation = &runs[dice.below(runs.len())];
        talk.talk(&mut dice, conversation).map_err(finding)?;
    }
    Ok(talk.finish())
}
