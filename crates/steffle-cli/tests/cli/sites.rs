//! Sites that keep their files to themselves: a `silo.toml` each, a `job.toml` at the lead, and
//! nothing between them but messages.

#[cfg(target_os = "linux")]
mod abandoned;
mod agreement;
#[cfg(target_os = "linux")]
mod canary;
mod closing;
mod faults;
mod hostile;
mod masks;
mod relay;
mod senders;
mod submitted;

use std::fmt::Write as _;
use std::fs;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

pub(crate) use self::relay::Relay;
use crate::harness::{Place, Ran, pairs, people};

/// Made-up people handed out to sites: `flags` of `data partition` say how. Every site has a
/// folder of its own with a `silo.toml`; `job.toml` names them.
pub(crate) fn handed_out(name: &str, csv: &str, flags: &[&str]) -> Place {
    let place = Place::new(name);
    place.write("people.csv", csv);
    let classes = if csv.contains(",c,") { "a,b,c" } else { "a,b" };
    let columns = ["--label", "label", "--sensitive", "group", "--classes", classes];
    let made = ["data", "partition", "people.csv", "--out", "parts", "--favourable", "high"];
    let ran = place.run(&[&made[..], &columns, flags].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let job = place.read("parts/job.toml");
    let (_, recipe) = job.split_once("[recipe]\n").unwrap();
    let mut names: Vec<String> = fs::read_dir(place.path("parts"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with("test") && !name.starts_with("job"))
        .collect();
    // Those with records come first.
    names.sort_by_key(|name| (name.starts_with("attributes"), name.clone()));
    let mut roster = Vec::new();
    let everybody = everybody(&place, &names);
    for file in &names {
        let site = file.trim_end_matches(".csv");
        fs::create_dir(place.path(site)).unwrap();
        fs::rename(place.path("parts").join(file), place.path(site).join(file)).unwrap();
        let (role, key) = match site.split('-').next() {
            Some("silo") => ("both", "data"),
            Some("records") => ("records", "data"),
            _ => ("attributes", "attributes"),
        };
        let mut people = "";
        if role == "attributes" {
            place.write(&format!("{site}/people.csv"), &everybody);
            people = "people = \"people.csv\"\n";
        }
        let own = format!(
            "version = 1\nname = \"{site}\"\nrole = \"{role}\"\n{key} = \"{file}\"\n{people}wait_seconds = 5\n\
             [policy]\nsimulations = true\npool = true\n[recipe]\n{recipe}"
        );
        place.write(&format!("{site}/silo.toml"), own);
        roster.push(format!("[[sites]]\nname = \"{site}\"\nsilo = \"{site}/silo.toml\"\n"));
    }
    let roster = roster.concat();
    let job = format!("version = 1\ntest = \"parts/test.csv\"\n{roster}[recipe]\n{recipe}");
    place.write("job.toml", job);
    place
}

/// The list of people of a holder elsewhere: the ids of all records files.
fn everybody(place: &Place, names: &[String]) -> String {
    let mut list = "record_id\n".to_owned();
    for file in names.iter().filter(|name| name.starts_with("records")) {
        for line in place.read(&format!("parts/{file}")).lines().skip(1) {
            let (id, _) = line.split_once(',').unwrap();
            writeln!(list, "{id}").unwrap();
        }
    }
    list
}

pub(crate) fn train(place: &Place, out: &str, flags: &[&str]) -> Ran {
    place.run(&[&["train", "--data", "job.toml", "--out", out][..], flags].concat())
}

/// The model that a run left.
pub(crate) fn model(place: &Place, out: &str) -> Vec<u8> {
    fs::read(place.path(out).join("model.safetensors")).unwrap()
}

/// The model of a run that nothing interrupts, in one process.
pub(crate) fn expected(place: &Place, flags: &[&str]) -> Vec<u8> {
    let _ = fs::remove_dir_all(place.path("expected"));
    let ran = train(place, "expected", flags);
    assert_eq!(ran.status, 0, "{flags:?}: {}", ran.stderr);
    model(place, "expected")
}

/// Changes a text in a file of a site.
pub(crate) fn change(place: &Place, file: &str, from: &str, to: &str) {
    let text = place.read(file);
    assert!(text.contains(from), "{file} has no {from}");
    place.write(file, text.replace(from, to));
}

pub(crate) fn ended(mut child: Child, within: Duration) -> (i32, String) {
    let until = Instant::now() + within;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > until {
            child.kill().unwrap();
            panic!("it did not end within {within:?}");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let output = child.wait_with_output().unwrap();
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// A lead that runs beside the test.
pub(crate) fn lead(place: &Place, arguments: &[&str]) -> Child {
    let mut command = place.command(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

const METHODS: [&[&str]; 3] = [
    &["--rounds", "3", "--epsilon", "1"],
    &["--method", "one-shot", "--epsilon", "1"],
    &["--method", "randomised-response", "--epsilon", "1"],
];

/// In one process from cut files, in one process from sites, and in one process per site: the same
/// bits, whoever holds what.
#[test]
fn sites_give_the_embedded_model_to_the_bit() {
    for (name, flags) in [
        ("sites-both", &["--silos", "3"][..]),
        ("sites-one", &["--silos", "1"]),
        ("sites-central", &["--silos", "2", "--split", "--holders", "1"]),
        ("sites-general", &["--silos", "2", "--split", "--holders", "2"]),
    ] {
        let csv = people(0..400);
        let place = handed_out(name, &csv, flags);
        let cut = Place::new(&format!("{name}-cut"));
        cut.write("people.csv", &csv);
        let columns = ["--label", "label", "--sensitive", "group", "--classes", "a,b,c"];
        let made = ["data", "partition", "people.csv", "--out", "parts", "--favourable", "high"];
        assert_eq!(cut.run(&[&made[..], &columns, flags].concat()).status, 0);
        for method in METHODS {
            let embedded = ["train", "--data", "parts/job.toml", "--out", "run", "--force"];
            let ran = cut.run(&[&embedded[..], method].concat());
            assert_eq!(ran.status, 0, "{name} {method:?}: {}", ran.stderr);
            let embedded = model(&cut, "run");
            assert_eq!(
                embedded,
                expected(&place, method),
                "{name} {method:?}: sites, in one process"
            );
            let ran = train(&place, "apart", &[method, &["--processes", "--force"]].concat());
            assert_eq!(ran.status, 0, "{name} {method:?}: {}", ran.stderr);
            assert_eq!(embedded, model(&place, "apart"), "{name} {method:?}: processes");
        }
    }
}

/// `steffle server` and a relay that carries frames, as another engine would: the same bits.
#[test]
fn a_relay_gives_the_same_model_to_the_bit() {
    for (name, csv, flags) in [
        ("relay-both", pairs(0..300), &["--silos", "2"][..]),
        ("relay-split", people(0..300), &["--silos", "2", "--split", "--holders", "2"]),
    ] {
        let place = handed_out(name, &csv, flags);
        for method in METHODS {
            let expected = expected(&place, method);
            let mut relay = Relay::start(&place, "run", &[method, &["--force"]].concat());
            let (status, stderr) = relay.carry_all();
            assert_eq!(status, 0, "{name} {method:?}: {stderr}");
            said_how_far(
                &stderr,
                if method[0] == "--method" { "penalised loss 0." } else { "loss 0." },
            );
            assert_eq!(expected, model(&place, "run"), "{name} {method:?}");
        }
    }
}

/// Rounds, the loss and what is spent, in lines of their own.
fn said_how_far(stderr: &str, loss: &str) {
    let told: Vec<&str> =
        stderr.lines().filter_map(|line| line.strip_prefix("progress: ")).collect();
    let fit = "Training the unconstrained model: ";
    assert!(
        told.iter().any(|line| line.starts_with(fit) && line.contains(", loss 0.")),
        "{stderr}"
    );
    // Nothing is spent before the first question about s.
    assert!(!told.iter().any(|line| line.starts_with(fit) && line.contains("spent")), "{stderr}");
    let last = told.last().unwrap();
    assert!(last.starts_with("Training the fair model: ") && last.contains(loss), "{last}");
    assert!(last.ends_with(", epsilon 1 spent"), "{last}");
}

/// What a site shows its owner, and that it sends nothing.
#[test]
fn a_silo_is_checked_before_it_takes_part() {
    let place = handed_out("silo-check", &pairs(0..300), &["--silos", "2"]);
    let found = place.json(&["silo", "check", "silo-1/silo.toml"]);
    assert_eq!(found["name"], "silo-1");
    assert_eq!(found["role"], "both");
    let groups = found["groups"].as_array().unwrap();
    let counted: u64 = groups.iter().map(|group| group[1].as_u64().unwrap()).sum();
    assert_eq!(found["rows"].as_u64(), Some(counted));
    assert!(found["ledger"].is_null());
    let ran = place.run(&["silo", "check", "silo-1/silo.toml"]);
    for word in ["For your eyes only", "Would be sent", "Never leaves", "town"] {
        assert!(ran.stdout.contains(word), "{}", ran.stdout);
    }
    assert!(!place.path("silo-1/sent").exists(), "it sent nothing");
    change(&place, "silo-1/silo.toml", "simulations = true", "simulations = false");
    let ran = place.run(&["silo", "check", "silo-1/silo.toml"]);
    assert!(ran.status == 3 && ran.stderr.contains("steffle::data::silo"), "{}", ran.stderr);
    let init = ["ledger", "init", "silo-1/store.ledger", "--epsilon", "2", "--delta", "1e-6"];
    let role = "role = \"both\"\n";
    change(&place, "silo-1/silo.toml", role, &format!("{role}ledger = \"store.ledger\"\n"));
    assert_eq!(place.run(&[&init[..], &["--silo", "silo-1/silo.toml"]].concat()).status, 0);
    let found = place.json(&["silo", "check", "silo-1/silo.toml"]);
    assert_eq!(found["ledger"]["epsilon_budget"], 2.0);
    assert_eq!(found["ledger"]["epsilon_spent"], 0.0);
}
