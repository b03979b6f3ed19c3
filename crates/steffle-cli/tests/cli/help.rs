use crate::harness::Place;

const COMMANDS: [&[&str]; 28] = [
    &[],
    &["train"],
    &["sweep"],
    &["predict"],
    &["export"],
    &["evaluate"],
    &["data"],
    &["data", "describe"],
    &["data", "partition"],
    &["privacy"],
    &["ledger"],
    &["ledger", "init"],
    &["ledger", "columns"],
    &["ledger", "admit"],
    &["ledger", "show"],
    &["ledger", "verify"],
    &["ledger", "export"],
    &["privacy", "account"],
    &["privacy", "add"],
    &["privacy", "calibrate"],
    &["privacy", "compare"],
    &["privacy", "explain"],
    &["privacy", "paper"],
    &["privacy", "sheet"],
    &["audit"],
    &["audit", "transcript"],
    &["completions"],
    &["submit"],
];

#[test]
fn every_command_has_help_with_an_example() {
    let place = Place::new("help");
    for command in COMMANDS {
        let ran = place.run(&[command, &["--help"]].concat());
        assert_eq!(ran.status, 0, "{command:?}");
        assert!(ran.stdout.contains("Usage: steffle"), "{command:?}");
        assert!(ran.stderr.is_empty(), "{command:?}");
        let example = ran.stdout.contains("Example");
        let chooses = [&["data"], &["privacy"], &["ledger"]].iter().any(|own| command == *own);
        assert!(example || chooses, "{command:?} shows no example");
    }
    assert_eq!(place.names(), [] as [&str; 0]);
}

#[test]
fn exit_statuses_are_in_the_help_and_in_the_manual() {
    let place = Place::new("help-status");
    let help = place.run(&["--help"]).stdout;
    let manual = include_str!("../../../../docs/CLI.md");
    for status in ["0", "1", "2", "3", "4", "5", "130"] {
        assert!(help.lines().any(|line| line.trim_start().starts_with(&format!("{status}  "))));
        assert!(manual.contains(&format!("| {status} |")), "{status} is not in docs/CLI.md");
    }
}

#[test]
fn every_flag_is_in_the_manual() {
    let place = Place::new("help-flags");
    let manual = include_str!("../../../../docs/CLI.md");
    for command in COMMANDS {
        let help = place.run(&[command, &["--help"]].concat()).stdout;
        let flags = help.lines().filter_map(|line| line.trim_start().strip_prefix("--"));
        for flag in flags.filter_map(|line| line.split([' ', ',']).next()) {
            assert!(manual.contains(&format!("`--{flag}")), "--{flag} of {command:?}");
        }
    }
}

#[test]
fn version_is_printed() {
    let ran = Place::new("version").run(&["--version"]);
    assert_eq!(
        (ran.status, ran.stdout.trim()),
        (0, concat!("steffle ", env!("CARGO_PKG_VERSION")))
    );
}

#[test]
fn completions_name_the_flags() {
    let place = Place::new("completions");
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let ran = place.run(&["completions", shell]);
        assert_eq!(ran.status, 0, "{shell}");
        assert!(ran.stdout.contains("heterogeneity"), "{shell}");
    }
    let json = place.json(&["completions", "bash"]);
    assert!(json["script"].as_str().unwrap().contains("--heterogeneity"));
}
