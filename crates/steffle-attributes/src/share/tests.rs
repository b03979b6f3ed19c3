use steffle_model::decode::{GAMMA, ShareScale};
use steffle_model::linear::{Features, Whitening};
use steffle_model::record::{Layout, Rows};
use steffle_model::scores::Who;
use steffle_privacy::ledger::{Accounts, Claim, Refusal};

use super::*;
use crate::attack::{Loud, Silence, offer, request};
use crate::noise::SimulatedNoise;
use crate::{
    Attributes, AttributesDivision, AttributesDivisionError, Capped, MISSING_CLASS, Sensitive,
    Share, Terms, mean_gram,
};

const MU: f64 = 0.5;

fn shares() -> NoiseShares {
    NoiseShares::new(5, 2).unwrap()
}

fn rows() -> Rows {
    let layout = Layout { numeric: 2, categorical: 1, features: 5 };
    let numbers = vec![0.5, -1.25, 2.0, 0.0, -0.75, 3.5, 1.0, 1.0, -2.5, 0.25, 0.125, -0.5];
    Rows::new(layout, 6, numbers, vec![2, 3, 4, 2, layout.absent(), 3]).unwrap()
}

/// Rows under the matrix of all and a cap of which all but the shortest are longer.
fn capped(rows: &Rows) -> Capped<'_> {
    let gram = mean_gram(&Features::whole(rows));
    Capped::with_gram(Features::whole(rows), gram, None, |own| own).unwrap()
}

fn scale(capped: &Capped<'_>, classes: usize) -> ShareScale {
    let gram = mean_gram(capped.features());
    let whitening = Whitening::new(gram, GAMMA).unwrap();
    let honest = (shares().honest(), SMALLEST_SCALE);
    ShareScale::new((&whitening, capped.cap()), classes, MU * MU, honest).unwrap()
}

/// A silo of these classes under a claim.
fn division(classes: &[u16], count: usize, claim: Claim) -> AttributesDivision {
    let ids: Vec<u64> = (0..classes.len() as u64).collect();
    let sealed = Sensitive::new(classes.to_vec());
    let attributes = Attributes::new(ids.clone(), sealed, count).unwrap();
    let mut division = AttributesDivision::beside(attributes, &ids.into(), None).unwrap();
    let terms = Terms::Exact(Share { round: MU * MU, table: 0.0 });
    // At delta 1e-9, mu is 0.502 at epsilon 2.92.
    division.open(&offer(claim, 2.92, 1e-9), terms, Accounts::One).unwrap();
    division
}

fn shared(classes: &[u16], count: usize) -> AttributesDivision {
    division(classes, count, Claim::Shared(shares()))
}

const ALL: [u32; 6] = [0, 1, 2, 3, 4, 5];

/// What a silo adds to the sum, with this noise.
fn share(
    division: &mut AttributesDivision,
    capped: &Capped<'_>,
    scale: ShareScale,
    noise: &mut impl NoiseSource,
) -> Result<FeatureShare, AttributesDivisionError> {
    let asking = (capped, Who::Positions(&ALL[..capped.features().len()]));
    Ok(division.release_share(asking, scale, request(1), noise)?.read().unwrap())
}

/// The squared distance of two messages in units of the noise of the honest sites together.
fn moved(a: &FeatureShare, b: &FeatureShare, scale: ShareScale) -> f64 {
    let pairs = a.sums.iter().flatten().zip(b.sums.iter().flatten());
    let far: f64 = pairs.map(|(a, b)| ((a - b) as f64 / scale.sigma as f64).powi(2)).sum();
    far / f64::from(shares().honest())
}

/// All neighbours of some stores: nobody moves the sum by more than is charged, and somebody by as
/// much; the charge is the share, and alone N - c times that.
#[test]
fn no_store_moves_the_sum_more_than_the_price() {
    let rows = rows();
    let capped = capped(&rows);
    for count in [2_u16, 3] {
        let scale = scale(&capped, usize::from(count));
        let own = |classes: &[u16]| {
            let mut division = shared(classes, usize::from(count));
            let share = share(&mut division, &capped, scale, &mut Silence::default()).unwrap();
            (share, division.spent().unwrap().value().powi(2))
        };
        let mut largest = 0.0_f64;
        for first in [[0; 6], [1; 6], [0, 1, 0, 1, MISSING_CLASS, 1]] {
            let (base, squared) = own(&first);
            assert!(squared <= MU * MU && squared > MU * MU * (1.0 - 1e-3), "{squared}");
            for unit in 0..6 {
                for class in (0..count).chain([MISSING_CLASS]) {
                    let mut neighbour = first;
                    neighbour[unit] = class;
                    let far = moved(&base, &own(&neighbour).0, scale);
                    assert!(far <= squared, "{far} {squared}");
                    largest = largest.max(far / squared);
                }
            }
        }
        assert!(largest > 0.999, "{largest}");
    }
}

/// The same person at two silos moves both shares, and the sum twice as far: mu times 2, not times
/// the root of 2 as with noise of each.
#[test]
fn a_person_at_two_sites_moves_the_sum_twice_as_far() {
    let rows = rows();
    let capped = capped(&rows);
    let scale = scale(&capped, 2);
    let own = |class| {
        let mut division = shared(&[class, 0, 1, 0, 1, 0], 2);
        share(&mut division, &capped, scale, &mut Silence::default()).unwrap()
    };
    let both = |class| {
        let double = |sum: &Vec<i128>| sum.iter().map(|sum| 2 * sum).collect();
        FeatureShare { sums: own(class).sums.iter().map(double).collect() }
    };
    let (once, twice) = (moved(&own(0), &own(1), scale), moved(&both(0), &both(1), scale));
    assert!(once > 0.9 * MU * MU && (twice / once - 4.0).abs() < 1e-12, "{once} {twice}");
}

/// A silo that has no record, or none whose class is known, adds noise as everybody does: its spread
/// is that of the scale. (600 numbers; the seeds are fixed.)
#[test]
fn a_share_is_added_always() {
    let rows = rows();
    let full = capped(&rows);
    let scale = scale(&full, 2);
    let none = Rows::new(rows.layout(), 0, Vec::new(), Vec::new()).unwrap();
    let gram = mean_gram(full.features());
    let empty = Capped::with_gram(Features::whole(&none), gram, None, |_| full.cap()).unwrap();
    for (capped, classes) in [(&empty, &[][..]), (&full, &[MISSING_CLASS; 6][..])] {
        let (mut squares, mut numbers) = (0.0, 0);
        for seed in 0..100 {
            let mut division = shared(classes, 2);
            let mut noise = SimulatedNoise::new(seed, 1, 0);
            let share = share(&mut division, capped, scale, &mut noise).unwrap();
            for draw in share.sums.iter().flatten() {
                squares += (*draw as f64 / scale.sigma as f64).powi(2);
                numbers += 1;
            }
            // It is written down, with its numbers, whatever it costs.
            assert_eq!(division.receipts().len(), 1);
        }
        let variance = squares / f64::from(numbers);
        assert!(numbers == 600 && (variance - 1.0).abs() < 0.15, "{numbers} {variance}");
    }
}

/// Whoever proposes a scale is not believed: half of it costs four times as much, which nobody pays.
#[test]
fn a_scale_that_costs_more_than_is_granted_is_refused() {
    let rows = rows();
    let capped = capped(&rows);
    let fair = scale(&capped, 2);
    let refused = |scale: ShareScale| {
        let mut division = shared(&[0, 1, 0, 1, 0, 1], 2);
        let refused = share(&mut division, &capped, scale, &mut SimulatedNoise::new(1, 1, 0));
        assert_eq!(division.spent().unwrap().value(), 0.0);
        refused.unwrap_err()
    };
    for sigma in [fair.sigma / 2, fair.sigma - fair.sigma / 100] {
        let error = refused(ShareScale { sigma, ..fair });
        assert!(
            matches!(error, AttributesDivisionError::Refused(Refusal::Budget { .. })),
            "{error:?}"
        );
    }
    for wrong in [
        ShareScale { sigma: 0, ..fair },
        ShareScale { sigma: (1 << 24) - 1, ..fair },
        ShareScale { sigma: u128::MAX, ..fair },
        ShareScale { shift: ShareScale::MOST_SHIFT + 1, ..fair },
        ShareScale { shift: u32::MAX, ..fair },
    ] {
        let error = refused(wrong);
        assert!(matches!(error, AttributesDivisionError::Price(_)), "{error:?}");
    }
}

/// A grant is for shares or for messages with all of their noise, never for both.
#[test]
fn a_grant_is_for_one_kind_of_noise() {
    let rows = rows();
    let capped = capped(&rows);
    let scale = scale(&capped, 2);
    let classes = [0, 1, 0, 1, 0, 1];
    let noise = &mut SimulatedNoise::new(1, 1, 0);
    let mut each = division(&classes, 2, Claim::Gaussian);
    let refused = share(&mut each, &capped, scale, noise).unwrap_err();
    assert!(matches!(refused, AttributesDivisionError::Refused(Refusal::Kind)), "{refused:?}");
    let mut once = shared(&classes, 2);
    let asking = [(&capped, Who::Positions(&ALL[..]))];
    let refused = once.release_features(&asking, request(1), noise).unwrap_err();
    assert!(matches!(refused, AttributesDivisionError::Refused(Refusal::Kind)), "{refused:?}");
}

/// As many records as agreed steps allow, each as long as a row may be, all of one class of 64 or of another,
/// under the largest shift, scale and draws: 127 such sites add up without wrapping, and without noise
/// the integers are as large as the constants say, but for what this matrix has not: so many columns.
#[test]
fn the_largest_shares_add_up_in_the_ring() {
    const CLASSES: usize = 64;
    let layout = Layout { numeric: 2, categorical: 0, features: 2 };
    // 4096 is a row's largest number; the sum of a silo's is at most 2^19, or steps are coarser.
    let (records, longest) = (128, 4096.0_f32);
    let numbers = (0..records).flat_map(|_| [longest, longest]).collect();
    let rows = Rows::new(layout, records, numbers, Vec::new()).unwrap();
    let mut gram = mean_gram(&Features::whole(&rows));
    // A matrix that whoever sent it made so that the inverse is largest where rows are.
    gram.scale(0.0);
    let capped = Capped::with_gram(Features::whole(&rows), gram, None, |own| own).unwrap();
    assert!(capped.in_agreed_steps());
    let entries = capped.whitening().integer_rows().flatten().map(|entry| entry.unsigned_abs());
    assert!(entries.max().unwrap() <= Whitening::LARGEST);
    let most = ShareScale { shift: ShareScale::MOST_SHIFT, sigma: LARGEST_SCALE };
    let who: Vec<u32> = (0..records as u32).collect();
    let asking = || (&capped, Who::Positions(&who[..]));
    for class in [0, 63, MISSING_CLASS] {
        let silo = || shared(&vec![class; records], CLASSES);
        for above in [true, false] {
            let own = silo().release_share(asking(), most, request(1), &mut Loud::new(above));
            let share = own.unwrap().read().unwrap();
            assert_eq!(share.sums.len(), CLASSES);
            for own in share.sums.iter().flatten() {
                assert!(own.unsigned_abs() <= MOST_INTEGER, "{own}");
                assert!(own.checked_mul(127).is_some(), "{own}");
            }
        }
        let own = silo().release_share(asking(), most, request(1), &mut Silence::default());
        let silent = own.unwrap().read().unwrap();
        let found = silent.sums.iter().flatten().map(|own| own.unsigned_abs()).max().unwrap();
        let columns = capped.features().size() as u128;
        let bound =
            ((1_u128 << 53) * u128::from(Whitening::LARGEST) * columns) << ShareScale::MOST_SHIFT;
        assert!(found <= bound, "{found} {bound}");
        assert!(class != 63 || found > bound / 16, "{found} {bound}: the inputs are not extreme");
    }
}

/// From where `s` is read to where a share leaves there is no comparison with a range, and no refusal but
/// that of sums that are not those which were priced, which depends on no class.
#[test]
fn nothing_is_refused_once_s_was_read() {
    let after_s = [
        (include_str!("../share.rs"), "    fn add(", "#[cfg(test)]"),
        (include_str!("../sums_share.rs"), "    fn add(", "~"),
        (include_str!("../../../steffle-wire/src/sums_share.rs"), "    pub fn summed(", "    }\n"),
        (
            include_str!("../../../steffle-wire/src/summed.rs"),
            "    pub fn integers(&mut self, v",
            "    }\n",
        ),
    ];
    for (file, from, to) in after_s {
        let begin = file.find(from).unwrap();
        let own = &file[begin..];
        let own = &own[..own.find(to).unwrap_or(own.len())];
        assert!(own.lines().count() > 2, "{own}");
        // The one refusal that there is, and a length that is no number of the message.
        let own = own.replace("Err(Unpriced)", "").replace("len().max(1)", "");
        for word in [
            "Err(",
            "clamp",
            ".min(",
            ".max(",
            "checked_",
            "saturating_mul",
            "assert",
            "panic",
            " > ",
            " < ",
            ">=",
            "<=",
            "abs()",
        ] {
            assert!(!own.contains(word), "{word} in {own}");
        }
    }
}
