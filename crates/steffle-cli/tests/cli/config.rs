use crate::harness::Place;

#[test]
fn errors_point_at_the_line() {
    let place = Place::new("config-lines");
    let cases = [
        ("lambda = 2\nlamda = 3\n", "unknown_key", "2 | lamda = 3\n  | ^^^^^\n", "`lambda`"),
        ("# note\nlambda = -2\n", "lambda", "2 | lambda = -2\n  |          ^^\n", "0 or more"),
        ("silos = \"three\"\n", "type", "1 | silos = \"three\"\n  |         ^^^^^^^\n", "usize"),
        ("lambda = 2\nsilos = = 3\n", "syntax", "2 | silos = = 3\n", "key = value"),
        ("clip = 1.0\n", "conflict", "1 | clip = 1.0\n", "--mode paper"),
        ("batch = \"some\"\n", "type", "1 | batch = \"some\"\n", "\"all\""),
        ("method = \"magic\"\n", "method", "1 | method = \"magic\"\n", "steffle, one-shot"),
        ("[train]\nlambda = 2\n", "unknown_key", "1 | [train]\n", "lambda"),
    ];
    for (text, code, shown, word) in cases {
        place.write("run.toml", text);
        let ran = place.run(&["train", "--config", "run.toml"]);
        assert_eq!(ran.status, 3, "{text}: {}", ran.stderr);
        assert!(ran.stderr.contains(&format!("error[steffle::config::{code}]")), "{}", ran.stderr);
        assert!(ran.stderr.contains("--> run.toml:"), "{}", ran.stderr);
        assert!(ran.stderr.contains(shown), "{shown}\n{}", ran.stderr);
        assert!(ran.stderr.contains(word), "{word}: {}", ran.stderr);
        assert_eq!(place.names(), ["run.toml"]);
    }
}

#[test]
fn a_flag_takes_the_blame_for_itself() {
    let place = Place::new("config-blame");
    place.write("run.toml", "lambda = 2\n");
    let ran = place.run(&["train", "--config", "run.toml", "--lambda", "-7"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("--lambda -7 is refused"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("run.toml"), "{}", ran.stderr);
}

#[test]
fn a_run_can_be_repeated_from_its_configuration() {
    let place = Place::new("config-again");
    let first = ["train", "--rounds", "40", "--silos", "4", "--heterogeneity", "0.5"];
    place.json(&[&first[..], &["--seed", "7", "--lambda", "3", "--out", "one"]].concat());
    place.json(&["train", "--config", "one/config.toml", "--out", "two"]);
    let model = |run: &str| std::fs::read(place.path(run).join("model.safetensors")).unwrap();
    assert_eq!(model("one"), model("two"));
    assert_eq!(place.read("one/config.toml"), place.read("two/config.toml"));
}
