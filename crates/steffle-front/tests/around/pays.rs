//! Who is moved, pays.
//!
//! # What this proves
//! For every sequence of purchases that was tried, what one person's value of s moved in a released reply
//! is at most what the book charged that person for it, and all that it moved in the life of the book is at
//! most what the book was made with. Names, ids and lists change between purchases, and letters on their
//! way. Two worlds differ in one person's s. Their noise is from the same seeds, so that the difference of
//! two replies is what the person moved, in units of the noise. Randomised answers count by how many were
//! drawn about the person. Noise of features has a shape that only the silo knows: there whoever moves
//! something has to pay something.

use std::collections::BTreeSet;
use std::path::PathBuf;

use steffle::federation::{Gathered, Roster};
use steffle::node::Node;
use steffle::protocol::{
    Batch, Classes, Decode, Letter, Lost, NodeId, NoisyCounts, PrivateSums, Reader, Transport,
    decode,
};
use steffle_data::Recipe;
use steffle_front::NoiseOrigin;
use steffle_privacy::ledger::{Charge, Cost, Entry, Kind, Line, NoiseKind, Policy, Roll};

use crate::book::{Does, Kept, SharedBook, lock};
use crate::dice::Dice;
use crate::honest::{Script, agreement, play};
use crate::leaves::{columns, folder, other_recipe};
use crate::runs;
use crate::talk::{changed_letter, hand};
use crate::world::{CLASSES, Files, Layout, People, Row, SITES, Setting, list, recipe};

/// What became of purchases.
#[derive(Debug, Clone, Default)]
pub(crate) struct Paid {
    pub(crate) purchases: u64,
    pub(crate) accepted: u64,
    /// Replies that were compared.
    pub(crate) replies: u64,
    /// Of these, those that the person moved.
    pub(crate) moved: u64,
    /// Those of sampled plans among them.
    pub(crate) sampled: u64,
    /// The largest move of a message with Gaussian noise over its charge.
    pub(crate) worst: f64,
}

impl Paid {
    pub(crate) fn add(mut self, other: &Self) -> Self {
        self.purchases += other.purchases;
        self.accepted += other.accepted;
        self.replies += other.replies;
        self.moved += other.moved;
        self.sampled += other.sampled;
        self.worst = self.worst.max(other.worst);
        self
    }
}

/// Carries messages, and changes some letters.
struct Carrier {
    nodes: Vec<Node>,
    dice: Dice,
    hostile: bool,
}

impl Transport for Carrier {
    fn nodes(&self) -> usize {
        self.nodes.len()
    }

    fn exchange(&mut self, requests: &[(NodeId, &[u8])]) -> Vec<Result<Vec<u8>, Lost>> {
        let mut letters = Vec::new();
        let mut replies = Vec::new();
        for (to, message) in requests {
            let answer = hand(&mut self.nodes[to.0 as usize - 1], message);
            letters.extend(answer.letters);
            replies.push(Ok(answer.reply));
        }
        for Letter { to, bytes } in letters {
            let mut dice = Dice::new(self.dice.next());
            let changed = self.hostile && dice.percent(15);
            let bytes = if changed { changed_letter(&mut dice, &bytes) } else { bytes };
            for to in to {
                if let Some(node) = self.nodes.get_mut((to.0 as usize).wrapping_sub(1)) {
                    hand(node, &bytes);
                }
            }
        }
        replies
    }
}

/// The person whose s differs.
#[derive(Debug, Clone)]
struct Target {
    row: Row,
    units: bool,
    /// The record ids that the person ever had.
    ids: BTreeSet<u64>,
}

impl Target {
    fn is(&self, row: &Row) -> bool {
        if self.units { row.person == self.row.person } else { row.id == self.row.id }
    }
}

/// Changes rows between two purchases: their order, their site, who is there, and how often.
fn vary(dice: &mut Dice, people: &mut People, target: &Target, fresh: &mut u64) {
    let (site, other) = (dice.below(SITES), dice.below(SITES));
    let rows = &mut people.0[site];
    let at = dice.below(rows.len());
    *fresh += 1;
    match dice.below(8) {
        0 => rows.rotate_left(at),
        1 => rows.reverse(),
        2 if rows.len() > 8 => _ = rows.remove(at),
        3 => {
            let sex = CLASSES[dice.below(2)].to_owned();
            let new = Row { id: *fresh, person: *fresh, sex, salt: dice.next() % 100_000 };
            rows.insert(0, new);
        }
        4 if target.units => {
            rows.push(Row { id: *fresh, salt: dice.next() % 100_000, ..target.row.clone() });
        }
        5 => rows.push(target.row.clone()),
        6 if rows.len() > 8 => {
            let moved = rows.remove(at);
            people.0[other].push(moved);
        }
        _ => {}
    }
}

/// One run of all sites of a world; whether all of it was answered.
fn train(files: &Files, setting: Setting, books: &[SharedBook], script: Script, seed: u64) -> bool {
    let nodes = (0..setting.parties()).map(|place| {
        let (site, mut allows) = files.site(place).ok()?;
        // The people are made up.
        allows.secret = false;
        Some(files.node(place, site, (allows, true), Box::new(books[place].clone())))
    });
    let (Some(nodes), Ok(schema)) = (nodes.collect::<Option<Vec<Node>>>(), files.schema()) else {
        return false;
    };
    let mut agreed = agreement(script, &schema, seed as u8, NoiseKind::Simulation);
    agreed.seed = seed;
    let hostile = Dice::new(seed).percent(50);
    let carrier = Carrier { nodes, dice: Dice::new(seed), hostile };
    let joined = Gathered::new(carrier, agreed.run, Roster::default())
        .and_then(|gathered| gathered.join(agreed));
    joined.is_ok_and(|mut federation| play(&mut federation, script).is_ok())
}

/// The books of two worlds, and the files that change between purchases.
struct Market {
    setting: Setting,
    target: Target,
    /// The person's s in each world.
    values: [&'static str; 2],
    people: People,
    books: [Vec<SharedBook>; 2],
    folder: PathBuf,
    fresh: u64,
}

impl Drop for Market {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Market {
    fn new(dice: &mut Dice, folder: PathBuf, does: &Does) -> Self {
        const VALUES: [[&str; 2]; 4] =
            [["female", "male"], ["male", "female"], ["female", ""], ["", "male"]];
        let layouts = [Layout::Whole, Layout::Beside, Layout::Elsewhere];
        let (layout, units) = (*dice.of(&layouts), dice.percent(50));
        let by_job = dice.percent(30);
        let setting = Setting { layout, by_job, masked: false, units };
        let people = People::new(12);
        let values = *dice.of(&VALUES);
        let row = Row { sex: values[0].to_owned(), ..people.0[0][dice.below(12)].clone() };
        let target = Target { row, units, ids: BTreeSet::new() };
        let policy = || Policy {
            pure_share: 0.3,
            sampled_share: 0.3,
            simulations: true,
            ..Policy::of(8.0, 1e-4)
        };
        let book = |_| SharedBook::new(policy(), &columns(units), does.clone());
        let books = [0, 1].map(|_| (0..setting.parties()).map(book).collect());
        Self { setting, target, values, people, books, folder, fresh: 5000 }
    }

    /// The files of both worlds as they are now.
    fn files(&mut self, dice: &mut Dice) -> [Files; 2] {
        for _ in 0..dice.below(3) {
            vary(dice, &mut self.people, &self.target, &mut self.fresh);
        }
        let meaning = meaning(dice, self.setting.units);
        let unlisted = dice.percent(20).then(|| dice.below(12));
        let Self { target, people, setting, folder, .. } = self;
        let rows = people.0.iter().flatten().filter(|row| target.is(row));
        let ids: Vec<u64> = rows.map(|row| row.id).collect();
        target.ids.extend(ids);
        [0, 1].map(|at| {
            let mut world = people.clone();
            let own = world.0.iter_mut().flatten().filter(|row| target.is(row));
            own.for_each(|row| self.values[at].clone_into(&mut row.sex));
            let files = Files::write(&folder.join(at.to_string()), *setting, &world, &meaning);
            if let Some(unlisted) = unlisted {
                let mut listed = world.0.concat();
                listed.remove(unlisted);
                std::fs::write(files.path("people", SITES), list(&listed)).unwrap();
            }
            files
        })
    }

    /// Buys the same in both worlds; whether both got all of it.
    fn purchase(&self, dice: &mut Dice, files: &[Files; 2], number: u64) -> bool {
        const SCRIPTS: [Script; 8] = [
            Script::Accounts,
            Script::Accounts,
            Script::Blocks,
            Script::Classes,
            Script::Classes,
            Script::Counts,
            Script::OneShot,
            Script::Poisson,
        ];
        let Setting { layout, units, .. } = self.setting;
        let worlds = || files.iter().zip(&self.books);
        let bought: Vec<bool> = if dice.percent(25) {
            let Ok(model) = runs::model(dice, units) else { return false };
            if runs::contradicts(model.schema(), &columns(units)) {
                return false;
            }
            let store = if layout == Layout::Elsewhere { SITES } else { 0 };
            let how = (NoiseOrigin::Simulated, number as u8);
            let buy = |(files, books): (&Files, &Vec<SharedBook>)| {
                runs::buy(&model, files, &books[store], how).is_ok()
            };
            worlds().map(buy).collect()
        } else {
            let (script, seed) = (*dice.of(&SCRIPTS), dice.next());
            worlds().map(|(files, books)| train(files, self.setting, books, script, seed)).collect()
        };
        bought.iter().all(|own| *own)
    }
}

/// A sequence of purchases from the same books. Says where a person moved more than was charged.
pub(crate) fn sequence(number: u64, does: &Does) -> Result<Paid, String> {
    let mut dice = Dice::new(number ^ 0x00c4_a46e);
    let place = folder(&format!("pays-{number}-{}", matches!(does, Does::Keeps)));
    let mut market = Market::new(&mut dice, place, does);
    let mut paid = Paid::default();
    for purchase in 1..=(3 + dice.below(4) as u64) {
        let files = market.files(&mut dice);
        paid.purchases += 1;
        paid.accepted += u64::from(market.purchase(&mut dice, &files, purchase));
    }
    let Market { setting, target, books: [ones, twos], .. } = &market;
    for (store, (one, two)) in ones.iter().zip(twos).enumerate() {
        let compared = compare(&lock(&one.kept), &lock(&two.kept), target, one.pots());
        let compared = compared.map_err(|what| {
            format!("sequence {number}, {setting:?}, store {store}, {target:?}: {what}")
        })?;
        paid = paid.add(&compared);
    }
    Ok(paid)
}

/// What the owner says, sometimes in other words; who people are and what s is stays.
fn meaning(dice: &mut Dice, units: bool) -> Recipe {
    let own = recipe(units);
    let changed = dice.percent(15).then(|| other_recipe(dice, &own)).flatten();
    changed.map_or(own.clone(), |changed| Recipe {
        record_id: own.record_id,
        unit: own.unit,
        ..changed
    })
}

/// Compares what two books released with what the first charged the person.
fn compare(one: &Kept, two: &Kept, target: &Target, pots: (f64, f64)) -> Result<Paid, String> {
    /// Un-scaling integers in floats loses less than this.
    const ROUNDING: f64 = 1.0 + 1e-6;
    let mut paid = Paid::default();
    let (mut gaussian, mut pure) = (0.0, 0.0);
    let both = reserved(one).into_iter().zip(reserved(two));
    for (reservation, ((entry, roll), (other, _))) in (1..).zip(both) {
        if entry != other {
            return Err(format!("the price depends on s: {entry:?} and {other:?}"));
        }
        let (Some(a), Some(b)) = (one.reply(reservation), two.reply(reservation)) else { continue };
        let charged = charged(entry, roll, &target.ids);
        let moved = moved(entry, (a, b), &target.ids)?;
        paid.replies += 1;
        paid.moved += u64::from(moved > 0.0);
        if moved > charged * ROUNDING {
            return Err(format!(
                "{:?} moves {moved}, and {charged} was charged: {entry:?}",
                entry.kind
            ));
        }
        if charged > 0.0 && !matches!(entry.cost, Cost::Pure { .. }) {
            paid.worst = paid.worst.max(moved / charged);
        }
        match entry.cost {
            Cost::Pure { .. } => pure += moved,
            // A sampled plan is paid for as a whole when it is opened, outside of the Gaussian pot.
            Cost::Planned { .. } => paid.sampled += u64::from(moved > 0.0),
            _ => gaussian += if entry.kind == Kind::Features { 0.0 } else { moved },
        }
    }
    if gaussian > pots.0 * ROUNDING || pure > pots.1 * ROUNDING {
        return Err(format!("moved mu^2 {gaussian} and epsilon {pure} of pots {pots:?}"));
    }
    Ok(paid)
}

/// What a book was paid for, and about whom.
fn reserved(kept: &Kept) -> Vec<(&Entry, &Roll)> {
    let (mut rolls, mut grants, mut all) = (Vec::new(), Vec::new(), Vec::new());
    for line in &kept.lines {
        match line {
            Line::Roll(roll) => rolls.push(roll),
            Line::Open { roll, .. } => grants.push(rolls[roll.expect("a lasting book") as usize]),
            Line::Reserve { grant, entry, .. } => all.push((entry, grants[grant.0 as usize])),
            _ => {}
        }
    }
    all
}

/// What the account of a person pays: mu^2 or epsilon. A person who is not on the roll pays nothing.
fn charged(entry: &Entry, roll: &Roll, ids: &BTreeSet<u64>) -> f64 {
    let unit = |at: usize| roll.units.get(at).map_or(at, |&unit| unit as usize);
    let places =
        || roll.ids.iter().enumerate().filter(|(_, id)| ids.contains(id)).map(|(at, _)| at);
    let own: BTreeSet<usize> = places().map(unit).collect();
    let Some(&first) = own.first() else { return 0.0 };
    let squared = match entry.cost {
        Cost::Gaussian { squared, .. } | Cost::Planned { squared, .. } => squared,
        Cost::Pure { epsilon } => epsilon,
        Cost::Free => 0.0,
        Cost::Revealed => f64::INFINITY,
    };
    match &entry.charge {
        Charge::All => squared,
        Charge::Units(costs) => own.iter().map(|&unit| costs[unit]).fold(0.0, f64::max),
        Charge::Block { of, at } => {
            let all = roll.ids.iter().enumerate().filter(|(at, _)| unit(*at) == first);
            let key = all.map(|(_, id)| *id).min().unwrap_or(u64::MAX);
            if Batch::block_with(key, *of) == *at as usize { squared } else { 0.0 }
        }
    }
}

/// What the person moved between two replies to the same question: mu^2 or epsilon.
fn moved(entry: &Entry, (a, b): (&[u8], &[u8]), ids: &BTreeSet<u64>) -> Result<f64, String> {
    Ok(match entry.kind {
        Kind::Sums => {
            let (one, two): (PrivateSums, PrivateSums) = (read(a)?, read(b)?);
            if one.theta_shaped {
                return Err("noise with a shape was not asked for".to_owned());
            }
            let flat = |lists: &[Vec<f64>]| lists.concat();
            // Of two classes the second alone is sent.
            let sent = |tables: &[Vec<f64>]| -> Vec<f64> {
                tables.iter().flat_map(|table| table[table.len() / 2..].to_vec()).collect()
            };
            distance(&flat(&one.thetas), &flat(&two.thetas), one.theta_deviation)
                + distance(&sent(&one.tables), &sent(&two.tables), one.table_deviation)
        }
        Kind::Counts => {
            let (one, two): (NoisyCounts, NoisyCounts) = (read(a)?, read(b)?);
            distance(&one.counts, &two.counts, one.deviation)
        }
        Kind::Classes => {
            let (one, two): (Classes, Classes) = (read(a)?, read(b)?);
            let Cost::Pure { epsilon } = entry.cost else { return Ok(f64::INFINITY) };
            let pairs = || one.ids.iter().zip(one.classes.iter().zip(&two.classes));
            if pairs().any(|(id, (one, two))| one != two && !ids.contains(id)) {
                return Err("an answer about somebody else depends on the person".to_owned());
            }
            // All rows of a person get one answer: another one is another draw.
            let own = pairs().filter(|(id, _)| ids.contains(id));
            let answers: BTreeSet<_> = own.map(|(_, answers)| answers).collect();
            epsilon * answers.len() as f64
        }
        Kind::Features => {
            if a == b {
                0.0
            } else {
                f64::MIN_POSITIVE
            }
        }
    })
}

fn read<T: Decode>(reply: &[u8]) -> Result<T, String> {
    decode(Reader::new(reply)).map_err(|error| error.to_string())
}

/// The squared distance in units of the noise.
fn distance(one: &[f64], two: &[f64], deviation: f64) -> f64 {
    let squares: f64 = one.iter().zip(two).map(|(a, b)| (a - b).powi(2)).sum();
    if squares == 0.0 { 0.0 } else { squares / deviation.powi(2) }
}
