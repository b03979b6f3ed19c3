//! Run directories from elsewhere, used to buy metrics about a silo's own people.

use std::sync::{Arc, Mutex, OnceLock};

use serde_json::{Value, json};
use steffle_data::{Dialect, Schema};
use steffle_front::{Erm, Error, Fit, Model, NoiseOrigin, Purchase, Split, Table, schema_of_store};
use steffle_privacy::ledger::{StoreColumns, hexadecimal};

use crate::book::{Does, Overheard, SharedBook, lock};
use crate::dice::Dice;
use crate::leaves::{Tally, columns, folder, policy};
use crate::mutate;
use crate::world::{Files, Layout, People, SITES, Setting, other_value, recipe};

/// The files of a run directory, by their names.
type RunFiles = Vec<(&'static str, Vec<u8>)>;

/// The files of a model that was trained on such people, with units and without.
fn trained(units: bool) -> &'static RunFiles {
    static TRAINED: [OnceLock<RunFiles>; 2] = [OnceLock::new(), OnceLock::new()];
    TRAINED[usize::from(units)].get_or_init(|| {
        let setting = Setting { layout: Layout::Whole, by_job: false, masked: false, units };
        let place = folder(&format!("trained-{units}"));
        let files = Files::write(&place, setting, &People::new(60), &recipe(units));
        let data = Table::read(files.path("data", 0)).unwrap().with(recipe(units)).unwrap();
        let study = data.split(Split::default()).unwrap().silos(1).unwrap();
        let model = Erm::new().fit(&study).unwrap();
        model.files(&model.facts()).unwrap()
    })
}

/// Trains the models before there are threads.
pub(crate) fn prepare() {
    for units in [false, true] {
        trained(units);
    }
}

/// A model whose directory somebody changed: what its schema says, and with it the rest.
pub(crate) fn model(dice: &mut Dice, units: bool) -> Result<Model, Error> {
    let files = trained(units);
    let find = |name: &str| &files.iter().find(|(own, _)| *own == name).unwrap().1;
    let mut said: Value = serde_json::from_slice(find("schema.json")).unwrap();
    for _ in 0..=dice.below(2) {
        mutate::schema(dice, &mut said);
    }
    let schema = serde_json::to_vec(&said).unwrap();
    let parameters = match serde_json::from_value::<Schema>(said) {
        Ok(schema) => with_schema(find("model.safetensors"), &schema),
        Err(_) => find("model.safetensors").clone(),
    };
    Model::of_files("run", |name| {
        Ok(match name {
            "schema.json" => schema.clone(),
            "model.safetensors" => parameters.clone(),
            other => find(other).clone(),
        })
    })
}

/// Parameters as if they had been trained with this schema.
fn with_schema(file: &[u8], schema: &Schema) -> Vec<u8> {
    let length = u64::from_le_bytes(*file.first_chunk().unwrap()) as usize;
    let mut header: Value = serde_json::from_slice(&file[8..8 + length]).unwrap();
    let mut theta = file[8 + length..].to_vec();
    let count = schema.layout().features + 1;
    theta.resize(8 * count, 0);
    let tensors = header.as_object_mut().unwrap();
    for (name, tensor) in tensors.iter_mut() {
        if name == "__metadata__" {
            tensor["schema"] = json!(hexadecimal(&schema.hash()));
        } else {
            tensor["shape"] = json!([count]);
            tensor["data_offsets"] = json!([0, 8 * count]);
        }
    }
    let mut header = header.to_string().into_bytes();
    header.resize(header.len().next_multiple_of(8), b' ');
    let length = (header.len() as u64).to_le_bytes();
    [&length[..], &header, &theta].concat()
}

/// Whether a run directory says otherwise about a store's columns than its owner, whose word counts:
/// commands refuse such a directory before they read a file.
pub(crate) fn contradicts(schema: &Schema, columns: &StoreColumns) -> bool {
    schema_of_store(schema, columns).is_err()
}

/// Buys metrics of a model on somebody's rows; says everything that comes back.
pub(crate) fn buy(
    model: &Model,
    files: &Files,
    book: &SharedBook,
    (noise, run): (NoiseOrigin, u8),
) -> Result<String, Error> {
    let testing =
        model.testing(vec![files.path("data", SITES)], Vec::new(), &Dialect::default())?;
    let (ids, sizes) = (format!("{:?}", testing.ids()), format!("{:?}", testing.sizes()));
    let purchase = Purchase {
        epsilon: 0.5,
        delta: Some(1e-6),
        noise,
        seed: u64::from(run),
        run: [run; 16],
        books: vec![Box::new(book.clone())],
    };
    let (dropped, unseen) = (testing.dropped(), testing.unseen());
    let bought = testing.buy(&[model], 1, purchase)?;
    Ok(format!("{ids} {sizes} {dropped} {unseen} {bought:?}"))
}

/// Two worlds that differ in one cell are measured with the same run directories. Says what came out of
/// one of them alone.
pub(crate) fn sequence(number: u64) -> Result<Tally, String> {
    let mut dice = Dice::new(number ^ 0x0d1_4ec7);
    let units = dice.percent(50);
    let setting = Setting { layout: Layout::Whole, by_job: false, masked: false, units };
    let people = People::new(14);
    let row = dice.below(14);
    let after = other_value(&mut dice, &people.0[0][row].sex);
    let place = folder(&format!("runs-{number}"));
    let [one, two] = ["one", "two"].map(|world| place.join(world));
    let meaning = recipe(units);
    let (first, second) = (
        Files::write(&one, setting, &people, &meaning),
        Files::write(&two, setting, &people.with(0, row, &after), &meaning),
    );
    let heard: Arc<Mutex<Overheard>> = Arc::default();
    let own = columns(units);
    let [speaks, echoes] = [Does::Speaks(heard.clone()), Does::Echoes(heard.clone())]
        .map(|does| SharedBook::new(policy(), &own, does));
    let mut tally = Tally::default();
    for run in 1..5 {
        tally.mutated += 1;
        let Ok(model) = model(&mut dice, units) else { continue };
        if contradicts(model.schema(), &own) {
            continue;
        }
        let said = |bought: Result<String, Error>| {
            let text = bought.map_err(|error| format!("{error} {:?}", error.help()));
            format!("{text:?}").replace(&*two.to_string_lossy(), &one.to_string_lossy())
        };
        let bought = buy(&model, &first, &speaks, (NoiseOrigin::Secure, run));
        tally.accepted += u64::from(bought.is_ok());
        tally.opened += u64::from(bought.is_ok());
        let told = said(bought);
        let other = said(buy(&model, &second, &echoes, (NoiseOrigin::Secure, run)));
        if told != other || !lock(&heard).waiting.is_empty() {
            return Err(format!("run directory {number}, s `{after}`: {told} and {other}"));
        }
    }
    tally.released = lock(&heard).echoed;
    drop((first, second));
    let _ = std::fs::remove_dir_all(place);
    Ok(tally)
}
