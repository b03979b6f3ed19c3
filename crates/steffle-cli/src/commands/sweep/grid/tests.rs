use super::*;

fn expand(flags: &[&str]) -> Result<Vec<Run>, Failure> {
    let typed = ["steffle", "sweep"].iter().chain(flags);
    let matches = Cli::command().try_get_matches_from(typed).unwrap();
    let Command::Sweep(command) = Cli::from_arg_matches(&matches).unwrap().command else {
        panic!("not sweep");
    };
    runs(&command)
}

fn varying(runs: &[Run]) -> Vec<String> {
    runs.iter().map(|run| Value::Object(run.varying.clone()).to_string()).collect()
}

#[test]
fn every_combination_in_order() {
    let runs = expand(&["--method", "fermi", "--lambda", "0.5,2", "--seeds", "2"]).unwrap();
    assert_eq!(
        varying(&runs),
        [
            r#"{"lambda":0.5,"seed":0}"#,
            r#"{"lambda":0.5,"seed":1}"#,
            r#"{"lambda":2,"seed":0}"#,
            r#"{"lambda":2,"seed":1}"#
        ]
    );
    assert_eq!(runs[2].config.method.aim().lambda, 2.0);
    let these = expand(&["--method", "erm", "--seeds", "7,8,9"]).unwrap();
    assert_eq!(these.iter().map(|run| run.config.seed).collect::<Vec<_>>(), [7, 8, 9]);
}

#[test]
fn methods_get_the_settings_they_have() {
    let methods = "fermi,randomised-response,erm";
    let flags = ["--method", methods, "--epsilon", "0.25,1", "--lambda", "1,2", "--silos", "3,12"];
    let runs = expand(&flags).unwrap();
    // fermi: 2 lambdas, in one place; randomised response: all 8; erm: 2 numbers of silos.
    assert_eq!(runs.len(), 2 + 8 + 2, "{:?}", varying(&runs));
    // With one method the same settings contradict it.
    let refused = expand(&["--method", "fermi", "--epsilon", "1,2"]).unwrap_err();
    assert!(refused.message.contains("fermi"), "{}", refused.message);
}

#[test]
fn presets_keep_their_own_settings() {
    let methods = "steffle,dp-fermi,steffle-nonprivate";
    let flags = ["--method", methods, "--epsilon", "1,3", "--silos", "3,6", "--lambda", "1,2"];
    let runs = expand(&[&flags[..], &["--heterogeneity", "0.75", "--server", "plain"]].concat());
    // steffle: all 8; dp-fermi: one silo, so 4; without noise: no epsilon, so 4.
    assert_eq!(runs.unwrap().len(), 8 + 4 + 4);
    let refused = expand(&["--method", "dp-fermi", "--silos", "3,6"]).unwrap_err();
    assert!(refused.message.contains("silos"), "{}", refused.message);
}

#[test]
fn a_published_mode_has_the_published_signs() {
    let flags = ["--method", "steffle,pf-ld,reductions", "--mode", "paper", "--epsilon", "3"];
    let runs = expand(&[&flags[..], &["--silos", "3,6", "--lambda", "1,2"]].concat()).unwrap();
    assert_eq!(runs.len(), 4 + 2 + 2, "{:?}", varying(&runs));
    let published = runs.iter().find(|run| run.key()["method"] == "pf-ld").unwrap();
    assert_eq!(published.key()["sign"], "batch");
}

#[test]
fn widths_of_a_network_stay_together() {
    let runs = expand(&["--method", "fermi", "--model", "logistic,mlp:64,32,mlp:8"]).unwrap();
    let models: Vec<String> =
        runs.iter().map(|run| run.key()["model"].as_str().unwrap().to_owned()).collect();
    assert_eq!(models, ["logistic", "mlp:64,32", "mlp:8"]);
    // Repeated flags are one run's list.
    let flags = ["--data", "x.csv", "--label", "y", "--sensitive", "a", "--sensitive", "b"];
    assert_eq!(expand(&flags).unwrap().len(), 1);
}

#[test]
fn a_file_holds_the_same_grid() {
    let path = std::env::temp_dir().join(format!("steffle-grid-{}.toml", std::process::id()));
    let text = "method = [\"fermi\", \"erm\"]\nlambda = [1, 2.5]\nseeds = 3\nmodel = \"logistic\"\n\
                sensitive = [[\"sex\"], [\"sex\", \"race\"]]\n";
    std::fs::write(&path, text).unwrap();
    let named = path.to_string_lossy().into_owned();
    let runs = expand(&["--grid", &named]).unwrap();
    assert_eq!(runs.len(), 2 * (2 + 1) * 3);
    assert_eq!(runs[0].varying["sensitive"], "sex");
    let typed = expand(&["--grid", &named, "--lambda", "7", "--seed", "4"]).unwrap();
    assert_eq!(typed.len(), 4);
    assert!(typed.iter().all(|run| run.config.seed == 4));
    for (text, code, words) in [
        ("lambda = [1, -2]\n", "steffle::config::lambda", "-2"),
        ("lamda = 1\n", "steffle::config::unknown_key", "lamda"),
        ("lambda = []\n", "steffle::config::type", "lambda"),
        ("lambda = [\"x\"]\n", "steffle::usage::arguments", "'x'"),
        ("seeds = 0\n", "steffle::config::seeds", "0"),
    ] {
        std::fs::write(&path, text).unwrap();
        let refused = expand(&["--grid", &named]).unwrap_err();
        assert_eq!(refused.code, code, "{}", refused.message);
        assert!(refused.message.contains(words), "{}", refused.message);
    }
    std::fs::remove_file(&path).unwrap();
}
