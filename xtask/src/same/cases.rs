//! What is compared: all methods, modes, notions, models and centralisations, and refusals.

use std::fmt::Write as _;

/// Command lines that are run one after the other in one directory.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) lines: &'static [&'static str],
}

/// A name, and the command lines.
macro_rules! cases {
    ($($name:literal: $($line:expr),+;)+) => {
        &[$(Case { name: $name, lines: &[$($line),+] }),+]
    };
}

/// Training on made-up people: two groups and two labels, or three of each.
macro_rules! pairs {
    ($flags:literal) => {
        concat!("train --json --out run --data pairs.csv --label label --sensitive group --classes a,b ", $flags)
    };
}
macro_rules! people {
    ($flags:literal) => {
        concat!("train --json --out run --data people.csv --label label --sensitive group --classes a,b,c ", $flags)
    };
}

pub(crate) const CASES: &[Case] = cases! {
    "adult": "train --out run", "train --config run/config.toml --json --out again",
        "privacy explain run --json";
    "adult plan": "train --dry-run --json", "train --dry-run";
    "adult one-shot": "train --json --method one-shot --epsilon 0.5 --seed 3 --out run";
    "steffle": pairs!(""), "predict run pairs.csv --output labels.csv --json",
        "evaluate run pairs.csv --json --resamples 20";
    "steffle three classes": people!("--heterogeneity 0.75 --partition-by score --seed 5");
    "steffle secret batches": pairs!("--mode poisson --rounds 20 --epsilon 3");
    "steffle public blocks": pairs!("--batch 50 --epochs 3 --accounting round");
    "steffle plain": pairs!("--server plain --rounds 30 --output average --row-cap 0.4");
    "steffle without noise": pairs!("--mode none --lambda 4");
    "steffle paper": pairs!("--mode paper --epsilon 3 --batch 32 --epochs 4 --output random");
    "steffle equalized odds": pairs!("--notion equalized-odds --epsilon 2 --noise-shape isotropic");
    "steffle equal opportunity": pairs!("--notion equal-opportunity --surrogate-sharpness 3");
    "steffle conditional": people!("--notion conditional:region --validation 0.2");
    "steffle no notion": pairs!("--notion none --mode none");
    "steffle network": people!("--model mlp:6 --rounds 8");
    "steffle softmax": pairs!("--model softmax --missing category");
    "steffle one silo": pairs!("--centralisation one-silo");
    "steffle central attributes": people!("--centralisation central-attributes --silos 2");
    "steffle general": people!("--centralisation general:4 --epsilon 4");
    "steffle paper general": pairs!("--mode paper --epsilon 3 --centralisation general:2 --rounds 20");
    "steffle nonprivate": pairs!("--method steffle-nonprivate --rounds 60");
    "one-shot": people!("--method one-shot --lambda 2 --epsilon 2");
    "one-shot pooled": pairs!("--method one-shot --pool --epsilon 4");
    "one-shot target": pairs!("--method one-shot --target-gap 0.05 --epsilon 6");
    "one-shot general": pairs!("--method one-shot --centralisation general:2 --notion equalized-odds");
    "randomised response": people!("--method randomised-response --epsilon 1");
    "randomised response central": pairs!("--method randomised-response --epsilon 2 --centralisation central-attributes");
    "fermi": people!("--method fermi --lambda 3");
    "fermi equalized odds": pairs!("--method fermi --notion equalized-odds --silos 5");
    "dp-fermi": pairs!("--method dp-fermi --rounds 40");
    "dp-fermi paper": pairs!("--method dp-fermi --mode paper --epsilon 3 --batch 50 --epochs 3");
    "pf-ld": pairs!("--method pf-ld --epsilon 3 --epochs 20");
    "pf-ld without noise": pairs!("--method pf-ld --mode none --epochs 20");
    "pf-ld published": pairs!("--method pf-ld --sign batch --epsilon 3 --batch 50 --epochs 4");
    "reductions": pairs!("--method reductions --lambda 3 --notion equal-opportunity");
    "fedavg": people!("--method fedavg --rounds 10 --local-epochs 2"), "privacy explain run --json";
    "fedfdp": pairs!("--method fedfdp --epsilon 3 --rounds 20"), "privacy explain run --json";
    "fedfdp published": pairs!("--method fedfdp --mode paper --epsilon 1 --rounds 20");
    "fedfair": people!("--method fedfdp --mode none --lambda 2 --rounds 10");
    "erm": people!("--method erm --model mlp:4"), "train --config run/config.toml --json --out again";
    "files": "data partition people.csv --label label --sensitive group --classes a,b,c --split --holders 2 --silos 3 --out cut",
        "train --data cut/job.toml --json --out run", "train --data cut/job.toml --method fermi --json --out run2";
    "whole files": "data partition pairs.csv --label label --sensitive group --classes a,b --silos 2 --out cut",
        "train --data cut/job.toml --json --out run --method one-shot",
        "train --data cut/job.toml --json --centralisation central-attributes --out run2";
    "sweep keys": "sweep --method steffle,one-shot,randomised-response,fermi,dp-fermi,pf-ld,reductions,steffle-nonprivate,fedfdp,fedavg,erm --epsilon 1,3 --lambda 0.5,2 --seeds 2 --silos 3,6 --dry-run --json",
        "sweep --mode exact,paper,none,poisson --method steffle,fedfdp,pf-ld --epsilon 1 --clip 2 --rounds 5 --dry-run --json",
        "sweep --mode exact,none --epsilon 1 --dry-run";
    "sweep": "sweep --data pairs.csv --label label --sensitive group --classes a,b --method steffle,one-shot,fermi,reductions,fedavg,pf-ld --epsilon 2 --lambda 0.5,2 --seeds 2 --rounds 8 --threads 1 --out swept --json";
    "plans": pairs!("--dry-run --method one-shot --pool"), pairs!("--dry-run --method pf-ld --sign batch"),
        pairs!("--dry-run --method fedfdp"), pairs!("--dry-run --method fermi"), people!("--dry-run --mode poisson --centralisation general:2"),
        pairs!("--dry-run --method erm"), pairs!("--dry-run --method dp-fermi --mode none");
    "refused settings": "train --mode none --epsilon 1", "train --clip 1", "train --mode paper",
        "train --mode paper --epsilon 1 --row-cap 0.5", "train --lr-theta 0.1", "train --epsilon 0",
        "train --delta 1", "train --lambda -1", "train --target-gap 0.1", "train --sign batch",
        "train --mode paper --epsilon 1 --server improved", "train --batch 0", "train --model mlp:0",
        "train --notion fair", "train --seed 99999999999999999999", "train --threads 0", "train --local-epochs 2",
        "train --output random --server plain --lr-dual 0", "train --silos 0", "train --heterogeneity 2",
        "train --batch 20000", "train --method magic", "train --mode exact --accounting record --diameter 2";
    "refused for a method": "train --method erm --lambda 2", "train --method erm --batch 10", "train --method erm --mode none",
        "train --method erm --surrogate-sharpness 2", "train --method dp-fermi --silos 3", "train --method dp-fermi --heterogeneity 0.5",
        "train --method pf-ld --server plain", "train --method pf-ld --sign released --mode paper", "train --method pf-ld --notion none",
        "train --method reductions --epsilon 1", "train --method reductions --rounds 5", "train --method fermi --mode none",
        "train --method fermi --noise secure", "train --method one-shot --accounting round", "train --method erm --secure-aggregation",
        "train --method one-shot --lambda 1 --target-gap 0.1", "train --method one-shot --rounds 3", "train --method randomised-response",
        "train --method randomised-response --epsilon 1 --delta 0.1", "train --method steffle-nonprivate --epsilon 1",
        "train --method steffle-nonprivate --mode exact", "train --method fedavg --epsilon 1", "train --method fedavg --mode exact",
        "train --method fedfdp --mode exact", "train --method fedfdp --noise secure", "train --method fedfdp --mode paper",
        "train --method fedfdp --mode none --epsilon 1", "train --method fedfdp --local-epochs 2", "train --method fedfdp --batch 20000",
        "train --method fedavg --lambda 2", "train --method one-shot --pool", "train --method pf-ld --sign batch --model softmax";
    "refused data": "train --data nowhere.csv", "train --data people.csv", "train --data people.csv --label label --sensitive group",
        "train --data people.csv --label label --sensitive group --classes a", "train --data people.csv --label x --sensitive group --classes a,b",
        people!("--method pf-ld"), people!("--model logistic"), "train --records a.csv", "train --data adult --records a --attributes b --test c",
        "train --data job.toml", "predict nowhere people.csv", "evaluate people.csv people.csv", "sweep --method magic --dry-run",
        pairs!("--partition-by group");
};

/// Made-up people of two or three groups and labels; the label leans on group and `score`.
pub(crate) fn people(rows: u64, kinds: u64) -> String {
    let mut csv = "record_id,score,town,region,group,label\n".to_owned();
    for row in 0..rows {
        let draw = |salt: u64| mix(row.wrapping_mul(1009).wrapping_add(salt)) % 1000;
        let group = ["a", "b", "c"][(draw(1) % kinds) as usize];
        let town = ["north", "south", "east"][(draw(2) % 3) as usize];
        let region = ["hill", "plain"][(draw(3) % 2) as usize];
        let score = draw(4) + if group == "a" { 300 } else { 0 };
        let label = match score + draw(5) / 2 {
            0..=550 => "low",
            551..=950 if kinds == 3 => "middle",
            _ => "high",
        };
        // Writing to a string cannot fail.
        let _ = writeln!(csv, "{row},{}.5,{town},{region},{group},{label}", score / 10);
    }
    csv
}

/// SplitMix64's finaliser: fixed, well mixed numbers.
fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
