//! The front door, as a program uses it.
#![allow(clippy::unwrap_used)] // a test that cannot write its files has to fail

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use steffle_front::{
    Asked, BatchSize, Centralisation, Cut, Error, Fermi, Fit, Given, METHODS, Mode, Model,
    Observer, OneShot, Recipe, Split, Stage, Status, Steffle, SteffleNonprivate, Study, Table,
    method,
};

/// A directory of a test's own, removed when it is over.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("hiring.csv"), hiring()).unwrap();
        Self(path)
    }

    fn study(&self, cut: impl Into<Cut>) -> Study {
        let recipe = Recipe::new("hired", &["sex"]).classes(&["female", "male"]);
        let data = Table::read(self.0.join("hiring.csv")).unwrap().with(recipe).unwrap();
        data.split(Split::default()).unwrap().silos(cut).unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Made-up applicants, whose chances lean on sex.
fn hiring() -> String {
    let mut csv = "experience,degree,sex,hired\n".to_owned();
    for row in 0_u64..600 {
        let draw = |salt: u64| (row * 7919 + salt * 104_729) % 1009;
        let sex = if draw(1) % 2 == 0 { "female" } else { "male" };
        let degree = ["none", "bachelor", "master"][(draw(2) % 3) as usize];
        let experience = draw(3) % 20;
        let chance = 20 * experience + draw(4) / 3 + if sex == "male" { 120 } else { 0 };
        let hired = if chance > 380 { "yes" } else { "no" };
        writeln!(csv, "{experience},{degree},{sex},{hired}").unwrap();
    }
    csv
}

/// The program of the crate's front page and of the README, here on made-up applicants.
#[test]
fn the_program_on_the_front_page_runs() -> Result<(), Error> {
    let place = Place::new("front-page");
    let file = place.0.join("hiring.csv");
    let recipe = Recipe::new("hired", &["sex"]).classes(&["female", "male"]);
    let data = Table::read(file)?.with(recipe)?;
    let study = data.split(Split::default())?.silos(3)?;
    let model = Steffle::new().epsilon(1.0).lambda(2.0).fit(&study)?;
    let said = format!("{}\n{}", model.privacy(), model.judge(study.test())?);
    assert!(said.starts_with("Privacy (simulation): The mechanism is (1, "), "{said}");
    assert!(said.contains("demographic-parity gap"), "{said}");
    assert!(model.trips().is_some_and(|trips| trips > 25));
    assert_eq!(model.trace().len(), 25);
    Ok(())
}

#[test]
fn the_front_page_and_the_readme_show_the_program_that_is_tested() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let tested = std::fs::read_to_string(here.join("tests/front.rs")).unwrap();
    let lines = [
        "let recipe = Recipe::new(\"hired\", &[\"sex\"]).classes(&[\"female\", \"male\"]);",
        "let study = data.split(Split::default())?.silos(3)?;",
        "let model = Steffle::new().epsilon(1.0).lambda(2.0).fit(&study)?;",
    ];
    for document in ["src/lib.rs", "../../README.md"] {
        let text = std::fs::read_to_string(here.join(document)).unwrap();
        for line in lines {
            assert!(tested.contains(line) && text.contains(line), "{document}: {line}");
        }
    }
}

/// Fixed seeds, hence fixed results.
#[test]
fn several_lambdas_share_a_release_and_keep_their_order() {
    let place = Place::new("lambdas");
    let study = place.study(2);
    let models = OneShot::new().epsilon(5.0).fit_path(&study, &[4.0, 0.0, 1.0]).unwrap();
    let lambdas: Vec<f64> = models.iter().map(Model::lambda).collect();
    assert_eq!(lambdas, [4.0, 0.0, 1.0]);
    // Where lambdas are runs of their own, each is what it would be alone.
    let own = SteffleNonprivate::new().rounds(15);
    let path = own.fit_path(&study, &[3.0]).unwrap();
    let alone = own.lambda(3.0).fit(&study).unwrap();
    assert_eq!(path[0].theta(), alone.theta());
    // A second fit on the same study is the first one again.
    let [one, two] = [0, 1].map(|_| Fermi::new().lambda(2.0).fit(&study).unwrap());
    assert_eq!(one.theta(), two.theta());
}

#[test]
fn a_model_that_is_saved_and_loaded_decides_and_says_the_same() {
    let place = Place::new("saved");
    let study = place.study(Cut::from(2).centralisation(Centralisation::CentralAttributes));
    let model = OneShot::new().epsilon(2.0).fit(&study).unwrap();
    let directory = place.0.join("model");
    model.save(&directory).unwrap();
    let loaded = Model::load(&directory).unwrap();
    assert_eq!(loaded.theta(), model.theta());
    assert_eq!((loaded.privacy(), loaded.leaves()), (model.privacy(), model.leaves()));
    let [ours, theirs] = [&model, &loaded].map(|model| model.judge(study.test()).unwrap());
    assert_eq!(ours, theirs);
    let predicted = |model: &Model| {
        let mut rows = model.predict(place.0.join("hiring.csv"), &Asked::default()).unwrap();
        let chunk = rows.next_chunk().unwrap().unwrap();
        chunk.iter().map(|row| row.label.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(predicted(&model), predicted(&loaded));
    // Nothing is overwritten, and nothing half-written is left.
    assert_eq!(model.save(&directory).unwrap_err().code(), "steffle::run::exists");
    std::fs::write(directory.join("schema.json"), "{}").unwrap();
    assert_eq!(Model::load(&directory).err().unwrap().code(), "steffle::run::damaged");
    let names: Vec<_> =
        std::fs::read_dir(&place.0).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

/// Counts steps and stops after some of them.
struct After {
    stage: Stage,
    steps: u32,
    seen: AtomicU32,
    here: AtomicU32,
}

impl Observer for After {
    fn begin(&self, stage: Stage, _: Option<u32>) {
        self.here.store(u32::from(stage == self.stage), Ordering::Relaxed);
    }

    fn step(&self) -> ControlFlow<()> {
        let seen = self.seen.fetch_add(self.here.load(Ordering::Relaxed), Ordering::Relaxed);
        if seen < self.steps { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

#[test]
fn every_method_can_be_stopped_in_every_stage() {
    let place = Place::new("stopped");
    for entry in METHODS {
        let study = place.study(if entry.central { Cut::ONE } else { Cut::from(2) });
        let mut given = Given::default();
        if entry.takes("epsilon") {
            given.set("epsilon", 3.0);
        }
        if entry.takes("rounds") {
            given.set("rounds", 12_u32);
        }
        let method = method(entry.name, &given).unwrap();
        let stages = match entry.name {
            "erm" => vec![Stage::Unconstrained],
            "fedavg" | "fedfdp" => vec![Stage::Federated, Stage::Unconstrained],
            _ => vec![Stage::Fair, Stage::Unconstrained],
        };
        for stage in stages {
            // A study keeps its unconstrained model: the last stage needs one that has none.
            let study = if stage == Stage::Unconstrained {
                place.study(if entry.central { Cut::ONE } else { Cut::from(2) })
            } else {
                study.clone()
            };
            let (seen, here) = (AtomicU32::new(0), AtomicU32::new(0));
            let stopping = After { stage, steps: 0, seen, here };
            let outcome = method.plan(&study).unwrap().train(&stopping);
            let error = outcome.err().unwrap_or_else(|| panic!("{} {stage:?}", entry.name));
            assert_eq!(error.status(), Status::Interrupted, "{} {stage:?}: {error}", entry.name);
        }
        // What was stopped left nothing behind that a next run could trip over.
        assert!(method.plan(&study).unwrap().train(&()).is_ok(), "{}", entry.name);
    }
}

#[test]
fn what_a_method_is_not_told_is_safe_and_what_it_refuses_is_named() {
    let place = Place::new("defaults");
    let study = place.study(3);
    let plan = Steffle::new().plan(&study).unwrap();
    assert_eq!(plan.method().mode(), Mode::Exact);
    assert!(plan.privacy().holds && plan.privacy().epsilon == Some(1.0));
    let refused = Steffle::new().epsilon(-1.0).fit(&study).err().unwrap();
    assert_eq!((refused.setting(), refused.given()), (Some("epsilon"), Some("-1")));
    assert_eq!(refused.code(), "steffle::config::epsilon");
    assert!(refused.to_string().starts_with("epsilon = -1 is refused: it must be"), "{refused}");
    let refused = Steffle::new().clip(1.0).fit(&study).err().unwrap();
    assert_eq!((refused.code(), refused.status()), ("steffle::config::conflict", Status::Usage));
    assert!(refused.help().is_some_and(|help| help.contains("paper")));
    let refused = Steffle::new().batch(BatchSize::Records(10_000)).fit(&study).err().unwrap();
    assert_eq!(refused.status(), Status::Data);
    let mut given = Given::default();
    given.set("lamda", 1.0);
    assert!(method("steffle", &given).unwrap_err().to_string().contains("lamda is no setting"));
    assert!(method("magic", &Given::default()).unwrap_err().to_string().contains("one-shot"));
    // A run that claims privacy needs declared classes.
    let data =
        Table::read(place.0.join("hiring.csv")).unwrap().with(Recipe::new("hired", &["sex"]));
    let open = data.unwrap().split(Split::default()).unwrap().silos(2).unwrap();
    assert_eq!(Steffle::new().fit(&open).err().unwrap().code(), "steffle::data::classes");
    assert!(Fermi::new().fit(&open).is_ok());
}
