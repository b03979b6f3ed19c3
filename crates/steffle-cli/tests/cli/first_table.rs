//! `docs/FIRST_TABLE.md`: every command on it is run, and prints what the page shows. A line `...` in a
//! block stands for lines that are left out.

use std::fmt::Write as _;
use std::path::Path;

use crate::harness::{Place, mix, shows, without_times};

/// Jobs that hardly anybody has.
const RARE: [&str; 8] =
    ["beekeeper", "diver", "puppeteer", "smith", "falconer", "juggler", "tuner", "glazier"];

/// Made-up loans as a system might export them: `;`, decimal commas, days first, numbers of rows, names,
/// codes, rare words, `n/a`, and a column that is known only afterwards. A few customers are neither
/// `f` nor `m`.
fn loans(rows: std::ops::Range<u64>) -> String {
    let mut csv = "Nr;customer;born;income;region;job;late;sex;paid;approved\n".to_owned();
    for row in rows {
        let draw = |salt: u64| mix(row * 1009 + salt) % 10_000;
        let sex = match draw(1) {
            0..=24 => "x",
            25..=4_900 => "f",
            _ => "m",
        };
        let usual = if sex == "m" { "trade" } else { "office" };
        let job = match draw(2) % 100 {
            0 => RARE[(draw(3) % 8) as usize],
            1..=60 => usual,
            61..=75 => "trade",
            76..=85 => "office",
            _ => "factory",
        };
        let income = 1_100 + draw(4) * 7 / 20;
        let late = draw(5) % 7;
        let chance = income + draw(6) / 4 + if job == "trade" { 900 } else { 0 };
        let approved = chance > 3_900 + 150 * late;
        let late = if draw(7) % 8 == 0 { "n/a".to_owned() } else { late.to_string() };
        let paid = if approved { format!("{}00,00", 10 + draw(8) % 90) } else { String::new() };
        writeln!(
            csv,
            "{row};Customer {row:04};{:02}.{:02}.{};{}.{:03},{}0;{};{job};{late};{sex};{paid};{}",
            1 + draw(9) % 28,
            1 + draw(10) % 12,
            1950 + draw(11) % 55,
            income / 1000,
            income % 1000,
            draw(12) % 10,
            1 + draw(13) % 4,
            if approved { "yes" } else { "no" }
        )
        .unwrap();
    }
    csv
}

#[test]
fn the_first_table_is_what_the_program_prints() {
    let place = Place::new("first-table");
    place.write("loans.csv", loans(0..6_000));
    place.write("last-year.csv", loans(6_000..8_000));
    place.write("applicants.csv", loans(8_000..8_060));
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/FIRST_TABLE.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (mut checked, mut wrong) = (0, String::new());
    for block in page.split("```\n$ ").skip(1) {
        let block = block.split("```").next().unwrap();
        let (typed, shown) = block.split_once('\n').unwrap_or((block, ""));
        let words: Vec<&str> = typed.split_whitespace().collect();
        let printed = match &words[..] {
            ["head", "-3", file] => {
                place.read(file).lines().take(3).fold(String::new(), |all, line| all + line + "\n")
            }
            ["steffle", rest @ ..] => {
                let ran = place.run(rest);
                assert_eq!(ran.status, 0, "{typed}: {}", ran.stderr);
                ran.stdout
            }
            _ => panic!("no such command: {typed}"),
        };
        let (shown, printed) = (without_times(shown), without_times(&printed));
        if !shows(&shown, &printed) {
            write!(wrong, "\n$ {typed}\n{}\n", printed.join("\n")).unwrap();
        }
        checked += 1;
    }
    assert!(wrong.is_empty(), "docs/FIRST_TABLE.md shows something else than is printed:{wrong}");
    assert!(checked >= 8, "only {checked} commands were found");
    assert!(place.path("runs/loans-1/report.html").is_file());
    assert!(place.read("decisions.csv").starts_with("record_id,label,probability_no"));
}
