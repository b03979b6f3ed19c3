use serde_json::Value;

use super::*;
use crate::paper::rounds_of_epochs;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn rows() -> Vec<(Setting, Value)> {
    let vectors: Value = serde_json::from_str(include_str!("../../../tests/vectors.json")).unwrap();
    let rows: Vec<_> = vectors["theorem"].as_array().unwrap().clone();
    assert_eq!(rows.len(), 12);
    rows.into_iter()
        .map(|row| {
            let silo_records = row["silo_records"].as_u64().unwrap() as usize;
            let setting = Setting {
                silo_records,
                silos: 3,
                batch: 256,
                rounds: rounds_of_epochs(40, silo_records, 256).unwrap(),
                epsilon: number(&row["epsilon"]).try_into().unwrap(),
                delta: number(&row["delta"]).try_into().unwrap(),
                rho: number(&row["rho"]).try_into().unwrap(),
            };
            (setting, row)
        })
        .collect()
}

fn close(ours: f64, theirs: &Value, relative: f64) {
    let theirs = number(theirs);
    assert!((ours / theirs - 1.0).abs() < relative, "{ours} is not {theirs}");
}

#[test]
fn the_table_of_the_specification() {
    for (setting, row) in rows() {
        assert_eq!(setting.rounds.count(), row["rounds"].as_u64().unwrap());
        let analysis = Analysis::of(setting).unwrap();
        close(analysis.sigma_dual, &row["sigma_dual"], 1e-12);
        close(analysis.noise_multiplier.value(), &row["z"], 1e-12);
        close(analysis.noise_multiplier_both.value(), &row["z_joint"], 1e-12);
        assert_eq!(analysis.participations, 40);
        let rounds = &analysis.conditions[1];
        close(rounds.needed.unwrap(), &row["rounds_needed"], 1e-12);
        assert_eq!(rounds.holds, row["rounds_suffice"].as_bool().unwrap());
        for (cost, theirs) in
            [(analysis.one_message, &row["one"]), (analysis.both_messages, &row["both"])]
        {
            close(cost.batch_revealed, &theirs["revealed"], 1e-9);
            // Their grid is of 5e-4 and coarser for the large ones: up to 2 per mille above.
            close(cost.poisson_add_remove.unwrap(), &theirs["add_remove"], 2e-3);
            close(cost.poisson_centred.unwrap(), &theirs["centred"], 2e-3);
            close(cost.without_replacement.unwrap(), &theirs["fixed_batch"], 2e-3);
        }
    }
}

/// The accountant `paper` reads the theorem's own noise as the theorem's own claim.
#[test]
fn the_claim_is_read_back() {
    for (setting, _) in rows() {
        let z = Analysis::quick(setting).unwrap().noise_multiplier;
        for event in events(&setting, z).unwrap() {
            let claimed = crate::paper::claimed_epsilon(&[event], setting.delta);
            assert!((claimed / setting.epsilon.value() - 1.0).abs() < 1e-12, "{claimed}");
        }
    }
}

#[test]
fn the_noise_that_would_be_needed() {
    for (setting, row) in rows().into_iter().step_by(7) {
        let needed = Analysis::quick(setting).unwrap().needed().unwrap();
        let theirs = &row["z_needed"];
        // Their searches end within a few per mille.
        close(needed.poisson_add_remove.value(), &theirs["add_remove"], 5e-3);
        close(needed.poisson_centred.value(), &theirs["centred"], 5e-3);
        close(needed.without_replacement.value(), &theirs["fixed_batch"], 5e-3);
        close(needed.batch_revealed.value(), &theirs["revealed"], 5e-5);
        for (ours, theirs) in needed.full_batch.iter().zip(row["full_batch"].as_array().unwrap()) {
            assert_eq!(ours.rounds.count(), theirs["rounds"].as_u64().unwrap());
            close(ours.noise_multiplier.value(), &theirs["z"], 5e-5);
            close(ours.sigma_dual, &theirs["sigma_dual"], 5e-5);
        }
    }
}

#[test]
fn the_statement_names_the_number_that_counts() {
    let (setting, _) = rows().remove(2);
    let quick = Analysis::quick(setting).unwrap();
    let text = quick.statement();
    assert!(text.contains("claims epsilon 9 "), "{text}");
    assert!(text.contains("gives epsilon 120.4"), "{text}");
    assert!(text.contains("T >= (n sqrt(epsilon) / 2m)^2"), "{text}");
    let mut larger = setting;
    larger.batch = setting.silo_records + 1;
    assert!(Analysis::quick(larger).is_err());
}
