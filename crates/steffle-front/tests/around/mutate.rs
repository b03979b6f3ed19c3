//! What comes from outside, changed: every name, number and list that a message or a file brings.

use serde_json::{Map, Value, json};
use steffle::fairness::Notion;
use steffle::protocol::{
    Describe, Encode, Join, Kind, MaskTerms, Meet, Opening, Pool, Reader, Release, SchemaHash,
    Share, Terms, Units, Writer, decode,
};
use steffle_data::Schema;
use steffle_privacy::NoiseShares;
use steffle_privacy::ledger::{Claim, NoiseKind};

use crate::dice::Dice;
use crate::world::{CLASSES, COLUMNS, SENSITIVE};

/// Bytes as they are.
pub(crate) struct Raw<'a>(pub(crate) &'a [u8]);

impl Encode for Raw<'_> {
    fn encode(&self, writer: &mut Writer) {
        writer.raw(self.0);
    }
}

pub(crate) fn bytes(message: &impl Encode) -> Vec<u8> {
    let mut writer = Writer::default();
    message.encode(&mut writer);
    writer.finish()
}

/// A request's payload in other words, and the schema that a changed one of [`Join`] names.
pub(crate) fn request(
    dice: &mut Dice,
    kind: Kind,
    payload: &[u8],
) -> (Vec<u8>, Option<SchemaHash>) {
    if dice.percent(6) {
        return (flipped(dice, payload), None);
    }
    let changed = match kind {
        Kind::Join => {
            let Ok(mut own) = decode::<Join>(Reader::new(payload)) else {
                return (flipped(dice, payload), None);
            };
            join(dice, &mut own);
            return (bytes(&own), named(&own.schema));
        }
        Kind::Open => decode::<Opening>(Reader::new(payload)).map(|mut own| {
            opening(dice, &mut own);
            bytes(&own)
        }),
        Kind::Describe => decode::<Describe>(Reader::new(payload)).map(|mut own| {
            own.masked = dice.percent(50).then(|| MaskTerms {
                colluders: dice.below(4) as u16,
                noise: noise(dice),
                shared: dice.percent(50).then(|| dice.below(4) as u16),
            });
            bytes(&own)
        }),
        Kind::Meet if dice.percent(70) => decode::<Meet>(Reader::new(payload)).map(|mut own| {
            if let Ok(mut columns) = serde_json::from_slice(&own.columns) {
                schema(dice, &mut columns);
                own.columns = serde_json::to_vec(&columns).unwrap_or_default();
            }
            bytes(&own)
        }),
        Kind::Release if dice.percent(50) => {
            let known = *dice.of(&[0.5, 0.25, 1e-3, 2.0]);
            let epsilon = if dice.percent(60) { known } else { dice.number() };
            Ok(bytes(&if dice.percent(60) {
                Release::Classes { epsilon: dice.percent(80).then_some(epsilon) }
            } else {
                Release::Features { agreed: None, share: None }
            }))
        }
        Kind::Pool => decode::<Pool>(Reader::new(payload)).map(|own| pool(dice, own, payload)),
        // The same too early, or once more.
        _ if payload.is_empty() && dice.percent(70) => Ok(Vec::new()),
        _ => Ok(numbers(dice, payload)),
    };
    (changed.unwrap_or_else(|_| flipped(dice, payload)), None)
}

/// What silos add up, about other columns or rows.
fn pool(dice: &mut Dice, own: Pool, payload: &[u8]) -> Vec<u8> {
    let columns: Vec<u32> = (0..dice.below(4)).map(|_| dice.below(12) as u32).collect();
    match own {
        Pool::Gram { secure_aggregation, .. } => {
            bytes(&Pool::Gram { secure_aggregation, without: columns })
        }
        Pool::Curvature { theta, .. } if dice.percent(50) => {
            bytes(&Pool::Curvature { theta, without: columns })
        }
        Pool::Length { gram, .. } if dice.percent(50) => {
            let quantile = *dice.of(&[0.0, 0.1, 0.9, 1.0, f64::NAN]);
            bytes(&Pool::Length { gram, quantile })
        }
        Pool::Entries { released } => bytes(&Pool::Entries { released: !released }),
        _ => numbers(dice, payload),
    }
}

/// The hash of a schema, where it is one.
fn named(schema: &[u8]) -> Option<SchemaHash> {
    let schema: Schema = serde_json::from_slice(schema).ok()?;
    Some(SchemaHash(schema.hash()))
}

/// A letter's payload in other words.
pub(crate) fn letter(dice: &mut Dice, kind: Kind, payload: &[u8]) -> Vec<u8> {
    match (kind, decode::<Units>(Reader::new(payload))) {
        (Kind::Join, Ok(mut own)) => {
            units(dice, &mut own);
            bytes(&own)
        }
        _ if dice.percent(20) => flipped(dice, payload),
        _ => numbers(dice, payload),
    }
}

/// Ids dropped, added or doubled; people joined or parted.
fn units(dice: &mut Dice, own: &mut Units) {
    let Units { ids, units } = own;
    let count = ids.len().max(1);
    let at = dice.below(count);
    match dice.below(6) {
        0 if at < ids.len() => {
            ids.remove(at);
            if let Some(units) = units {
                units.remove(at);
            }
        }
        1 => {
            ids.push(if dice.percent(50) { dice.next() % 500 } else { dice.next() });
            if let Some(units) = units {
                units.push(at as u32);
            }
        }
        2 if at < ids.len() => {
            ids.push(ids[at]);
            if let Some(units) = units {
                units.push(dice.below(count) as u32);
            }
        }
        3 => *units = None,
        4 => *units = Some((0..ids.len() as u32).collect()),
        _ => *units = Some((0..ids.len()).map(|_| dice.below(count) as u32).collect()),
    }
}

fn noise(dice: &mut Dice) -> NoiseKind {
    if dice.percent(60) { NoiseKind::Secure } else { NoiseKind::Simulation }
}

fn join(dice: &mut Dice, join: &mut Join) {
    if dice.percent(75) {
        if let Ok(mut schema) = serde_json::from_slice(&join.schema) {
            for _ in 0..=dice.below(2) {
                self::schema(dice, &mut schema);
            }
            join.schema = serde_json::to_vec(&schema).unwrap_or_default();
        }
        return;
    }
    let classes = [0, 1, 2, 3, 1000];
    match dice.below(9) {
        0 => {
            let names = ["logistic", "softmax", "mlp:3", "", "Logistic", "mlp:0", "sex"];
            (*dice.of(&names)).clone_into(&mut join.model);
        }
        1 => join.scores.name = word(dice),
        2 => {
            let notions = [
                Notion::None,
                Notion::DemographicParity,
                Notion::EqualizedOdds { labels: 2 },
                Notion::EqualizedOdds { labels: 3 },
                Notion::EqualOpportunity { favourable: dice.below(3) as u16 },
                Notion::Conditional { strata: 1 + dice.below(4) },
                Notion::AccuracyParity,
            ];
            join.scores.notion = *dice.of(&notions);
        }
        3 => join.scores.classes = *dice.of(&classes),
        4 => join.scores.labels = *dice.of(&classes),
        5 => join.scores.sharpness = dice.number(),
        6 => join.seed = dice.next(),
        7 => join.noise = noise(dice),
        _ => (join.silos, join.holders) = (dice.below(5) as u32, dice.below(3) as u32),
    }
}

fn opening(dice: &mut Dice, opening: &mut Opening) {
    let claims = [
        Claim::Nothing,
        Claim::Gaussian,
        Claim::Pure,
        NoiseShares::new(3, 1).map_or(Claim::Nothing, Claim::Shared),
    ];
    let words = ["steffle", "one-shot", "metrics", "randomised-response", "exact", "paper", "none"];
    let offer = &mut opening.offer;
    match dice.below(13) {
        0 => (*dice.of(&words)).clone_into(&mut offer.method),
        1 => (*dice.of(&words)).clone_into(&mut offer.mode),
        2 => offer.notion = word(dice),
        3 => offer.rounds = *dice.of(&[0, 1, 2, 50, u32::MAX]),
        4 => offer.epsilon = dice.number().abs(),
        5 => offer.delta = *dice.of(&[0.0, 1e-9, 1e-5, 0.1, 1.0, f64::NAN]),
        6 => offer.claim = *dice.of(&claims),
        7 => offer.noise = noise(dice),
        8 => opening.cap = dice.percent(70).then(|| dice.number()),
        9 => opening.shaped = !opening.shaped,
        10 => opening.blocks = dice.percent(70).then(|| *dice.of(&[0, 1, 2, 7, 1000])),
        11 => opening.by_record = dice.percent(80).then(|| dice.number()),
        _ => {
            let share = Share { round: dice.number(), table: dice.number() };
            opening.terms = if dice.percent(50) { Terms::Exact(share) } else { Terms::Open };
        }
    }
}

/// A number, where bytes look like one, in place of another.
fn numbers(dice: &mut Dice, payload: &[u8]) -> Vec<u8> {
    let mut changed = payload.to_vec();
    let read = |at: usize| changed[at..].first_chunk().map(|bytes| f64::from_le_bytes(*bytes));
    let usual = |at: &usize| {
        let size = read(*at).map_or(f64::NAN, f64::abs);
        size == 0.0 || (1e-9..1e9).contains(&size)
    };
    let places: Vec<usize> = (0..changed.len()).filter(usual).collect();
    if places.is_empty() {
        return flipped(dice, payload);
    }
    for _ in 0..=dice.below(2) {
        let (at, number) = (*dice.of(&places), dice.number());
        changed[at..at + 8].copy_from_slice(&number.to_le_bytes());
    }
    changed
}

/// A byte changed, or the end cut off.
fn flipped(dice: &mut Dice, payload: &[u8]) -> Vec<u8> {
    let mut changed = payload.to_vec();
    if changed.is_empty() {
        return vec![dice.next() as u8];
    }
    let at = dice.below(changed.len());
    if dice.percent(80) {
        changed[at] ^= 1 << dice.below(8);
    } else {
        changed.truncate(at);
    }
    changed
}

/// A name that means something in the files, or looks as if it did.
pub(crate) fn word(dice: &mut Dice) -> String {
    // Whoever asks is after s.
    let own = if dice.percent(30) { SENSITIVE } else { *dice.of(&COLUMNS) }.to_owned();
    match dice.below(14) {
        0 => format!(" {own} "),
        1 => own.to_uppercase(),
        2 => format!("{own}.2"),
        3 => format!("{own}\u{200b}"),
        4 => String::new(),
        5 => own.repeat(400),
        6 => (*dice.of(&CLASSES)).to_owned(),
        7 => (*dice.of(&["yes", "no", "north", "clerk", "(missing)", "(other)", "p3", "103"]))
            .to_owned(),
        _ => own,
    }
}

/// A recipe, or a schema that has one, in other words.
pub(crate) fn schema(dice: &mut Dice, schema: &mut Value) {
    let has_recipe = schema.get("recipe").is_some();
    match dice.below(12) {
        0 | 1 if has_recipe => feature(dice, schema),
        10 | 11 => swapped(dice, schema),
        2 | 3 => {
            let recipe = if has_recipe { &mut schema["recipe"] } else { schema };
            if let Value::Object(recipe) = recipe {
                meaning(dice, recipe);
            }
        }
        4 => lists(dice, schema),
        5..=7 => leaf(dice, schema, true),
        _ => leaf(dice, schema, false),
    }
}

/// Two columns in each other's place, wherever they are named: their roles change, and nothing clashes.
fn swapped(dice: &mut Dice, schema: &mut Value) {
    let (one, other) = (*dice.of(&COLUMNS), *dice.of(&COLUMNS));
    let mut places = Vec::new();
    find(schema, "", &mut |place, value| {
        let name = value.as_str().filter(|name| *name == one || *name == other);
        places.extend(name.map(|name| (place.to_owned(), if name == one { other } else { one })));
    });
    for (place, name) in places {
        if let Some(found) = schema.pointer_mut(&place) {
            *found = json!(name);
        }
    }
    let Some(Value::Array(features)) = schema.get_mut("categorical") else { return };
    for feature in features.iter_mut().filter(|own| own["name"] == SENSITIVE) {
        feature["levels"] = json!(CLASSES);
    }
}

/// A column that becomes a feature, or one that is none any more.
fn feature(dice: &mut Dice, schema: &mut Value) {
    let (name, numeric) = (word(dice), dice.percent(50));
    let list = &mut schema[if numeric { "numeric" } else { "categorical" }];
    let Value::Array(list) = list else { return };
    if dice.percent(30) && !list.is_empty() {
        let at = dice.below(list.len());
        list.remove(at);
    } else if numeric {
        let (centre, scale) = (dice.number(), dice.number());
        list.push(json!({"name": name, "centre": centre, "scale": scale}));
    } else {
        list.push(json!({"name": name, "levels": [word(dice), word(dice), "male"]}));
    }
}

/// A key of a recipe.
fn meaning(dice: &mut Dice, recipe: &mut Map<String, Value>) {
    let name = word(dice);
    let other = word(dice);
    let (key, value) = match dice.below(16) {
        0 => ("label", json!(name)),
        1 => ("labels", json!([name, other])),
        2 => ("favourable", json!(name)),
        3 => ("sensitive", json!([name])),
        4 => ("classes", json!([name, other])),
        5 => ("drop", json!([name])),
        6 => ("keep", json!([name])),
        7 => ("rare", json!(dice.below(100))),
        8 => ("categorical", json!([name])),
        9 => ("missing", json!(*dice.of(&["drop", "category", "impute", "keep"]))),
        10 => ("stratum", json!(name)),
        11 => ("unit", json!(name)),
        12 => ("record_id", json!(name)),
        13 => ("threshold", json!(dice.number())),
        14 => {
            let dialect = match dice.below(4) {
                0 => json!({"missing_markers": [name, "male"]}),
                1 => json!({"decimal_comma": [name]}),
                2 => json!({"decimal": "comma"}),
                _ => json!({"date_columns": {name: "day-first"}}),
            };
            ("dialect", dialect)
        }
        _ => (
            "merges",
            json!({name: {"male": "female", "clerk": "cook", "yes": "no", "103": "104"}}),
        ),
    };
    recipe.insert(key.to_owned(), value);
}

/// Moves, doubles or drops something of a list.
fn lists(dice: &mut Dice, value: &mut Value) {
    let mut places = Vec::new();
    find(value, "", &mut |place, value| {
        if matches!(value, Value::Array(list) if !list.is_empty()) {
            places.push(place.to_owned());
        }
    });
    if places.is_empty() {
        return;
    }
    let (from, to) = (dice.of(&places).clone(), dice.of(&places).clone());
    let Some(Value::Array(list)) = value.pointer_mut(&from) else { return };
    let at = dice.below(list.len());
    let moved = if dice.percent(60) { list.remove(at) } else { list[at].clone() };
    if dice.percent(70)
        && let Some(Value::Array(list)) = value.pointer_mut(&to)
    {
        list.push(moved);
    }
}

/// A name or a number in place of another.
fn leaf(dice: &mut Dice, value: &mut Value, text: bool) {
    let mut places = Vec::new();
    find(value, "", &mut |place, value| {
        if (text && value.is_string()) || (!text && value.is_number()) {
            places.push(place.to_owned());
        }
    });
    if places.is_empty() {
        return;
    }
    let place = dice.of(&places).clone();
    let Some(found) = value.pointer_mut(&place) else { return };
    *found = if text {
        json!(word(dice))
    } else if found.is_f64() {
        json!(dice.number())
    } else {
        json!(*dice.of(&[0_u64, 1, 2, 5, 65_535, u64::MAX]))
    };
}

/// Calls with the place of every value, as a JSON pointer.
fn find(value: &Value, place: &str, found: &mut impl FnMut(&str, &Value)) {
    found(place, value);
    match value {
        Value::Array(list) => {
            let inner = list.iter().enumerate();
            inner.for_each(|(at, own)| find(own, &format!("{place}/{at}"), found));
        }
        Value::Object(map) => {
            let key = |key: &String| key.replace('~', "~0").replace('/', "~1");
            map.iter().for_each(|(name, own)| find(own, &format!("{place}/{}", key(name)), found));
        }
        _ => {}
    }
}
