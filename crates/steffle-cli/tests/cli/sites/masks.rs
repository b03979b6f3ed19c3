//! Sums under masks, through the program: the same bits, keys of sites' own, and refusals by name.

use std::fs;

use super::{change, expected, handed_out, model, train};
use crate::harness::{Place, pairs};

const METHODS: [&[&str]; 4] = [
    &["--rounds", "3", "--epsilon", "1"],
    &["--method", "one-shot", "--epsilon", "1"],
    &["--method", "one-shot", "--pool", "--epsilon", "1"],
    &["--method", "randomised-response", "--epsilon", "1"],
];
const MASKED: &str = "--secure-aggregation";
const COLUMNS: [&str; 8] =
    ["--label", "label", "--sensitive", "group", "--classes", "a,b", "--favourable", "high"];

/// Gives every site a key and the fingerprints of all others.
pub(super) fn with_keys(place: &Place, sites: usize, policy: &str) -> Vec<String> {
    let key = |site: usize| {
        let file = format!("silo-{site}/site.key");
        place.json(&["silo", "key", &file])["fingerprint"].as_str().unwrap().to_owned()
    };
    let keys: Vec<String> = (1..=sites).map(key).collect();
    for site in 1..=sites {
        let peers: Vec<String> = (1..=sites)
            .filter(|peer| *peer != site)
            .map(|peer| format!("\"silo-{peer}\" = \"{}\"\n", keys[peer - 1]))
            .collect();
        let peers = peers.concat();
        let masks = format!("[masks]\nkey = \"site.key\"\n{policy}[peers]\n{peers}[policy]\n");
        change(place, &format!("silo-{site}/silo.toml"), "[policy]\n", &masks);
    }
    keys
}

#[test]
fn masks_change_no_bit_in_one_process() {
    let place = Place::new("masks-one-process");
    place.write("people.csv", pairs(0..600));
    for silos in ["3", "12"] {
        for method in METHODS {
            let flags = ["train", "--data", "people.csv", "--silos", silos, "--force", "--out"];
            let flags = [&flags[..], &["run"], &COLUMNS, method].concat();
            let plain = place.run(&flags);
            assert_eq!(plain.status, 0, "{silos} {method:?}: {}", plain.stderr);
            let wanted = model(&place, "run");
            let found = place.json(&[&flags[..], &[MASKED]].concat());
            assert_eq!(wanted, model(&place, "run"), "{silos} {method:?}");
            let aggregation = &found["aggregation"];
            assert_eq!(aggregation["scheme"], "pairwise-masks");
            assert_eq!(aggregation["simulated"], true);
            assert_eq!(aggregation["sites"].to_string(), silos);
            assert_eq!(aggregation["colluders"], if silos == "3" { 1 } else { 5 });
            let statement = found["privacy"]["statement"].as_str().unwrap();
            for words in ["The masks are simulated", "Questions of the server's choice"] {
                assert!(statement.contains(words), "{statement}");
            }
            let clear = found["leaves_in_clear"].to_string();
            assert!(!clear.contains("gradient") && !clear.contains("rows;"), "{clear}");
            assert!(clear.contains("the names of the levels"), "{clear}");
        }
    }
}

#[test]
fn masks_change_no_bit_over_processes() {
    let place = Place::new("masks-processes");
    place.write("people.csv", pairs(0..600));
    let made = ["data", "partition", "people.csv", "--out", "parts", "--silos", "3"];
    assert_eq!(place.run(&[&made[..], &COLUMNS].concat()).status, 0);
    for method in METHODS {
        let flags = ["train", "--data", "parts/job.toml", "--force", "--out", "run"];
        let run = |more: &[&str]| {
            let ran = place.run(&[&flags[..], method, more].concat());
            assert_eq!(ran.status, 0, "{method:?} {more:?}: {}", ran.stderr);
            model(&place, "run")
        };
        let plain = run(&[]);
        assert_eq!(plain, run(&[MASKED]), "{method:?}: one process");
        assert_eq!(plain, run(&[MASKED, "--processes"]), "{method:?}: processes");
    }
    // The lead does not know how many rows a party has.
    let found = place.json(&[
        "train",
        "--data",
        "parts/job.toml",
        "--force",
        "--out",
        "run",
        "--rounds",
        "2",
        MASKED,
        "--processes",
    ]);
    assert_eq!(found["silo_rows"].to_string(), "[]");
    assert_eq!(found["rows"]["dropped"], 0);
}

#[test]
fn sites_add_up_under_keys_of_their_own() {
    let place = handed_out("masks-sites", &pairs(0..600), &["--silos", "3"]);
    let wanted: Vec<Vec<u8>> = METHODS.iter().map(|method| expected(&place, method)).collect();
    let keys = with_keys(&place, 3, "require = true\n");
    for (method, wanted) in METHODS.iter().zip(&wanted) {
        let flags = [method, &[MASKED, "--processes", "--force"][..]].concat();
        let ran = train(&place, "run", &flags);
        assert_eq!(ran.status, 0, "{method:?}: {}", ran.stderr);
        assert_eq!(*wanted, model(&place, "run"), "{method:?}");
    }
    // In the clear they do not answer.
    let ran = train(&place, "clear", &["--rounds", "2"]);
    assert!(ran.status == 3 && ran.stderr.contains("under masks only"), "{}", ran.stderr);
    // What a site would tell, and to whom.
    let ran = place.run(&["silo", "check", "silo-1/silo.toml"]);
    for words in
        [keys[0].as_str(), &keys[2], "(this site)", "sums over all 3 sites", "refuses all others"]
    {
        let shown = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(shown.contains(words), "{words}: {}", ran.stdout);
    }
    // A key that changed is another site, by name, with what to do.
    fs::remove_file(place.path("silo-2/site.key")).unwrap();
    place.json(&["silo", "key", "silo-2/site.key"]);
    let ran = train(&place, "changed", &["--rounds", "2", MASKED]);
    assert_eq!(ran.status, 3, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("[peers]") || ran.stderr.contains("roster accept"),
        "{}",
        ran.stderr
    );
}

/// Sites with keys of their own share noise, in rounds and once: the same bits in one process and over
/// processes.
#[test]
fn noise_once_has_the_same_bits_wherever_it_is_added_up() {
    let place = handed_out("masks-noise-once", &pairs(0..600), &["--silos", "3"]);
    let methods: [&[&str]; 2] = [
        &["--rounds", "3", "--epsilon", "1", MASKED, "--noise-shares", "once"],
        &["--method", "one-shot", "--pool", "--epsilon", "1", MASKED, "--noise-shares", "once"],
    ];
    with_keys(&place, 3, "require = true\ncolluders = 1\n");
    for method in methods {
        let run = |more: &[&str]| {
            let ran = train(&place, "run", &[method, &["--force"], more].concat());
            assert_eq!(ran.status, 0, "{method:?}: {}", ran.stderr);
            model(&place, "run")
        };
        assert_eq!(run(&[]), run(&["--processes"]), "{method:?}");
        // Sites that want to be safe from one other refuse noise that is not.
        let less = [method, &["--colluders", "0", "--force"][..]].concat();
        let ran = train(&place, "less", &less);
        assert!(ran.status == 3 && ran.stderr.contains("wants at least 1"), "{}", ran.stderr);
    }
}

/// Twelve sites, each a process with a key of its own: the same bits as in the clear, with noise of each and
/// with noise once, which is that of one process.
#[test]
fn twelve_sites_add_up_to_the_same_bits() {
    let place = handed_out("masks-twelve", &pairs(0..720), &["--silos", "12"]);
    let wanted: Vec<Vec<u8>> = METHODS.iter().map(|method| expected(&place, method)).collect();
    with_keys(&place, 12, "");
    for site in 1..=12 {
        let file = format!("silo-{site}/silo.toml");
        assert_eq!(place.run(&["silo", "roster", "accept", &file]).status, 0);
    }
    let apart = |flags: &[&str], more: &[&str]| {
        let flags = [flags, &[MASKED, "--force"], more].concat();
        let ran = train(&place, "run", &flags);
        assert_eq!(ran.status, 0, "{flags:?}: {}", ran.stderr);
        model(&place, "run")
    };
    for (method, wanted) in METHODS.iter().zip(&wanted) {
        assert_eq!(*wanted, apart(method, &["--processes"]), "{method:?}");
    }
    for method in [METHODS[0], METHODS[2]] {
        let once = ["--noise-shares", "once"];
        let together = apart(method, &once);
        assert_eq!(
            together,
            apart(method, &["--noise-shares", "once", "--processes"]),
            "{method:?}"
        );
    }
}

/// A row that is erased between two runs would be the difference of their totals: the site refuses, says
/// so to its owner, and answers again with the data as they were.
#[test]
fn a_site_whose_data_changed_refuses_by_name() {
    let place = handed_out("masks-changed", &pairs(0..300), &["--silos", "3"]);
    with_keys(&place, 3, "");
    let flags = ["--method", "one-shot", "--epsilon", "1", MASKED, "--force"];
    let ran = train(&place, "run", &flags);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let wanted = model(&place, "run");
    let file = "silo-2/silo-2.csv";
    let before = place.read(file);
    let mut rows: Vec<&str> = before.lines().collect();
    rows.remove(5);
    place.write(file, rows.join("\n") + "\n");
    let ran = train(&place, "run", &flags);
    let said = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in ["silo 1 (silo-2)", "fewer than 50 records", "restore the data"] {
        assert!(ran.status == 3 && said.contains(words), "{words}: {}", ran.stderr);
    }
    let check = ["silo", "check", "silo-2/silo.toml"];
    let found = place.json(&check);
    assert_eq!((&found["masks"]["epoch"], &found["masks"]["altered"]), (&0.into(), &1.into()));
    assert!(place.run(&check).stdout.contains("REFUSES"));
    // Sorted otherwise they are the same data.
    rows.clear();
    rows.extend(
        before.lines().take(1).chain(before.lines().skip(1).collect::<Vec<_>>().into_iter().rev()),
    );
    place.write(file, rows.join("\n") + "\n");
    assert_eq!(place.json(&check)["masks"]["altered"], 0);
    place.write(file, &before);
    let ran = train(&place, "run", &flags);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!(wanted, model(&place, "run"));
    // Enough rows of one site are not enough sites.
    place.write(file, before.lines().take(20).collect::<Vec<_>>().join("\n") + "\n");
    let ran = train(&place, "run", &flags);
    assert!(ran.status == 3 && ran.stderr.contains("1 site(s) have"), "{}", ran.stderr);
    // The owners say otherwise, and are told what that shows.
    for site in 1..=3 {
        let accept =
            ["silo", "roster", "accept", &format!("silo-{site}/silo.toml")].map(str::to_owned);
        let ran = place.run(&accept.each_ref().map(String::as_str));
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        assert_eq!(ran.stdout.contains("were altered since"), site == 2, "{}", ran.stdout);
    }
    let ran = train(&place, "run", &flags);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
}

/// Whatever is pinned differently is another roster: refused until the owner says otherwise.
#[test]
fn a_store_answers_with_others_when_its_owner_says_so() {
    let place = handed_out("masks-roster", &pairs(0..300), &["--silos", "3"]);
    with_keys(&place, 3, "require = false\n");
    let method = ["--method", "one-shot", "--epsilon", "1"];
    let clear = train(&place, "clear", &method);
    assert_eq!(clear.status, 0, "{}", clear.stderr);
    let masked = [&method[..], &[MASKED]].concat();
    let ran = train(&place, "run", &masked);
    assert!(ran.status == 3 && ran.stderr.contains("roster accept"), "{}", ran.stderr);
    for site in 1..=3 {
        let file = format!("silo-{site}/silo.toml");
        let shown = place.run(&["silo", "check", &file]).stdout;
        assert!(shown.contains("WITHOUT"), "{shown}");
        let accepted = place.run(&["silo", "roster", "accept", &file]);
        assert_eq!(accepted.status, 0, "{}", accepted.stderr);
        assert!(accepted.stdout.contains("sums of other sites"), "{}", accepted.stdout);
    }
    let ran = train(&place, "run", &masked);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!(model(&place, "clear"), model(&place, "run"));
    let ran = train(&place, "clear-again", &method);
    assert!(ran.status == 3 && ran.stderr.contains("roster accept"), "{}", ran.stderr);
}

#[test]
fn what_masks_do_not_cover_is_refused_by_name() {
    let place = Place::new("masks-refused");
    place.write("people.csv", pairs(0..300));
    let flags = ["train", "--data", "people.csv", MASKED, "--out", "run"];
    let flags = [&flags[..], &COLUMNS].concat();
    for (more, word) in [
        (&["--silos", "1"][..], "1 silo(s) add up"),
        (&["--silos", "2"], "each knows what the other added"),
        (&["--silos", "3", "--centralisation", "central-attributes"], "about one silo"),
        (&["--silos", "3", "--mode", "poisson"], "mode poisson"),
        (&["--silos", "3", "--mode", "none"], "mode none"),
        (&["--silos", "3", "--batch", "20"], "blocks of records"),
        (&["--silos", "3", "--method", "fedavg"], "secure-aggregation"),
        (&["--silos", "3", "--method", "fedfdp", "--epsilon", "1"], "secure-aggregation"),
        (&["--silos", "3", "--method", "fermi"], "secure-aggregation"),
    ] {
        let ran = place.run(&[&flags[..], more].concat());
        assert_eq!(ran.status, 2, "{more:?}: {}", ran.stderr);
        let said = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(word), "{more:?}: {said}");
    }
    // A run under masks goes on with all or not at all.
    let place = handed_out("masks-drop", &pairs(0..300), &["--silos", "3"]);
    change(&place, "job.toml", "version = 1\n", "version = 1\nabsent = \"drop\"\n");
    let ran = train(&place, "run", &["--rounds", "2", MASKED]);
    assert!(ran.status == 2 && ran.stderr.contains("drop"), "{}", ran.stderr);
    // Sites without keys say so.
    change(&place, "job.toml", "absent = \"drop\"\n", "");
    let ran = train(&place, "run", &["--rounds", "2", MASKED]);
    assert!(ran.status == 3 && ran.stderr.contains("silo key"), "{}", ran.stderr);
}
