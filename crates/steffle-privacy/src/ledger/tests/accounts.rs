use super::*;
use crate::discrete::{MOST_NUMBERS, SLACK};

fn block(at: u32) -> Charge {
    Charge::Block { of: 3, at }
}

fn opened(offer: &CheckedOffer, accounts: Accounts) -> (MemoryLedger, GrantId) {
    let mut store = MemoryLedger::default();
    let grant = store.open(offer, accounts, &Roll::default).unwrap();
    (store, grant)
}

fn quarter_of(share: f64) -> f64 {
    share / 4.0 * (1.0 - 1e-12)
}

/// Four quarters of a share fit, up to what rounding a sum up may cost. Half the cost would let a
/// fifth one pass.
#[test]
fn every_account_is_a_filter_of_its_share() {
    let offer = gaussian(1.0, 1e-6);
    let share = squared_of(&offer);
    let (quarter, least) = (message(quarter_of(share)), message(1e-11 * share));

    let (mut store, grant) = opened(&offer, Accounts::One);
    for _ in 0..4 {
        release(&mut store, grant, quarter, Charge::All).unwrap();
    }
    assert!(is_budget(&release(&mut store, grant, least, Charge::All), Pot::GaussianGrant));
    release(&mut store, grant, message(0.0), Charge::All).unwrap();
    release(&mut store, grant, Cost::Free, Charge::All).unwrap();
    assert!(spent_of(&store, grant) >= (4.0 * quarter_of(share)).sqrt());
    assert!(spent_of(&store, grant) <= share.sqrt());

    let (mut store, grant) = opened(&offer, Accounts::Blocks(3));
    for _ in 0..4 {
        release(&mut store, grant, quarter, block(0)).unwrap();
    }
    assert!(is_budget(&release(&mut store, grant, least, block(0)), Pot::GaussianGrant));
    // A charge to all is one to every block, or to none.
    assert!(is_budget(&release(&mut store, grant, least, Charge::All), Pot::GaussianGrant));
    for _ in 0..4 {
        release(&mut store, grant, quarter, block(2)).unwrap();
    }
    release(&mut store, grant, quarter, block(1)).unwrap();
    let (mut store, grant) = opened(&offer, Accounts::Blocks(3));
    release(&mut store, grant, quarter, Charge::All).unwrap();
    for at in 0..3 {
        for _ in 0..3 {
            release(&mut store, grant, quarter, block(at)).unwrap();
        }
        assert!(is_budget(&release(&mut store, grant, least, block(at)), Pot::GaussianGrant));
    }
}

#[test]
fn a_unit_that_has_spent_its_share_is_retired() {
    let offer = gaussian(1.0, 1e-6);
    let share = squared_of(&offer);
    let full = quarter_of(share);
    let (mut store, grant) = opened(&offer, Accounts::Units(3));
    let each = |costs: [f64; 3]| Charge::Units(costs.to_vec());
    assert_eq!(store.retired(grant, full), Some(vec![false; 3]));
    assert_eq!(store.retired(grant, share.next_up()), Some(vec![true; 3]));
    for _ in 0..4 {
        release(&mut store, grant, message(full), each([full, full / 2.0, 0.0])).unwrap();
    }
    // The rounds' largest costs sum to the share now, but only one unit has paid it.
    assert_eq!(store.retired(grant, full), Some(vec![true, false, false]));
    assert_eq!(store.retired(grant, f64::NAN), Some(vec![true; 3]));
    let beyond = release(&mut store, grant, message(full), each([1e-11 * share, full, full]));
    assert!(is_budget(&beyond, Pot::GaussianGrant));
    assert!(is_budget(
        &release(&mut store, grant, message(1e-11 * share), Charge::All),
        Pot::GaussianGrant
    ));
    // A refused message costs nobody anything: two units can still pay what they could before.
    for _ in 0..2 {
        release(&mut store, grant, message(full), each([0.0, full, full])).unwrap();
    }
    assert_eq!(store.retired(grant, full), Some(vec![true, true, false]));
    assert!((spent_of(&store, grant) / share.sqrt() - 1.0).abs() < 1e-11);
    for accounts in [Accounts::One, Accounts::Blocks(2)] {
        let (store, grant) = opened(&offer, accounts);
        assert_eq!(store.retired(grant, 0.1), None);
    }
}

/// Any order of any charges: no unit's exact sum passes the share, and what would fit is paid.
#[test]
fn no_order_of_charges_passes_the_share() {
    let mut state = 9_u64;
    let mut draw = |end: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % end
    };
    let offer = offer_of(Claim::Gaussian, 2.0, 1e-5, NoiseKind::Secure);
    let offer = Offer { rounds: 400, ..offer }.check().unwrap();
    let share = squared_of(&offer);
    // Multiples of 2^-60 have exact sums in integers.
    let exactly = |cost: f64| (cost * 2.0_f64.powi(60)) as u128;
    for accounts in [Accounts::One, Accounts::Blocks(3), Accounts::Units(3)] {
        let (mut store, grant) = opened(&offer, accounts);
        let mut sums = [0_u128; 3];
        let mut refused = 0;
        for _ in 0..400 {
            let cost = draw(1 << 20) as f64 * share / 2.0_f64.powi(26);
            let cost = exactly(cost) as f64 * 2.0_f64.powi(-60);
            let (charge, costs) = match (accounts, draw(2)) {
                (Accounts::Blocks(_), 0) => {
                    let at = draw(3) as u32;
                    let mut costs = [0.0; 3];
                    costs[at as usize] = cost;
                    (block(at), costs)
                }
                (Accounts::Units(_), 0) => {
                    let costs = [cost, exactly(cost / 3.0) as f64 * 2.0_f64.powi(-60), 0.0];
                    (Charge::Units(costs.to_vec()), costs)
                }
                _ => (Charge::All, [cost; 3]),
            };
            let after = [0, 1, 2].map(|unit| sums[unit] + exactly(costs[unit]));
            let fits = after.iter().all(|&sum| sum <= exactly(share));
            let paid = release(&mut store, grant, message(cost), charge);
            assert!(fits || paid.is_err(), "{after:?} of {share}");
            match paid {
                Ok(_) => sums = after,
                Err(_) => refused += 1,
            }
        }
        let most = sums.iter().max().copied().unwrap_or_default();
        assert!(refused > 10 && most <= exactly(share), "{refused}");
        assert!(most as f64 > 0.97 * exactly(share) as f64, "the filter stopped early: {most}");
    }
}

#[test]
fn charges_must_fit_the_accounts() {
    let offer = gaussian(1.0, 1e-6);
    let units = |count: usize| Charge::Units(vec![1e-4; count]);
    let cases = [
        (Accounts::One, block(0)),
        (Accounts::One, units(1)),
        (Accounts::Blocks(2), block(0)),
        (Accounts::Blocks(3), block(3)),
        (Accounts::Blocks(3), units(3)),
        (Accounts::Units(3), block(0)),
        (Accounts::Units(3), units(2)),
        (Accounts::Units(3), units(4)),
    ];
    for (accounts, charge) in cases {
        let (mut store, grant) = opened(&offer, accounts);
        let refused = release(&mut store, grant, message(1e-3), charge.clone());
        assert_eq!(refused, Err(Refusal::Kind), "{accounts:?} {charge:?}");
        assert_eq!(spent_of(&store, grant), 0.0);
    }
    let none = MemoryLedger::default().open(&offer, Accounts::Blocks(0), &Roll::default);
    assert_eq!(none, Err(Refusal::Kind));
}

#[test]
fn costs_that_are_no_numbers_are_refused() {
    for wrong in [f64::NAN, f64::INFINITY, -1.0, -5e-324] {
        let costs = [
            Cost::Gaussian { squared: wrong, slack: 0.0, numbers: 1 },
            Cost::Gaussian { squared: 1e-3, slack: wrong, numbers: 1 },
            Cost::Planned { squared: wrong, slack: 0.0, numbers: 1 },
            Cost::Planned { squared: 1e-3, slack: wrong, numbers: 1 },
            Cost::Pure { epsilon: wrong },
        ];
        for offer in [gaussian(1.0, 1e-6), sampled(5.0, 1e-6), pure(1.0), nothing()] {
            let (mut store, grant) = opened(&offer, Accounts::One);
            for cost in costs {
                let refused = release(&mut store, grant, cost, Charge::All);
                assert_eq!(refused, Err(Refusal::Cost), "{cost:?}");
            }
        }
        let (mut store, grant) = opened(&gaussian(1.0, 1e-6), Accounts::Units(2));
        let units = Charge::Units(vec![1e-4, wrong]);
        assert_eq!(release(&mut store, grant, message(1e-3), units), Err(Refusal::Cost));
        assert_eq!(spent_of(&store, grant), 0.0);
    }
    // The dearest unit is what the receipt says: nobody pays more.
    let (mut store, grant) = opened(&gaussian(1.0, 1e-6), Accounts::Units(2));
    let units = Charge::Units(vec![1e-4, 1.1e-3]);
    assert_eq!(release(&mut store, grant, message(1e-3), units), Err(Refusal::Cost));
}

#[test]
fn sampled_grants_keep_to_their_plan() {
    let offer = sampled(5.0, 1e-6);
    let largest = largest_round(&plan(2.0));
    let (mut store, grant) = opened(&offer, Accounts::One);
    let dearer = release(&mut store, grant, planned(largest.next_up()), Charge::All);
    assert!(is_budget(&dearer, Pot::Round));
    for charge in [block(0), Charge::Units(vec![largest])] {
        assert_eq!(release(&mut store, grant, planned(largest), charge), Err(Refusal::Kind));
    }
    assert_eq!(release(&mut store, grant, message(largest), Charge::All), Err(Refusal::Kind));
    release(&mut store, grant, planned(largest), Charge::All).unwrap();
    release(&mut store, grant, planned(0.0), Charge::All).unwrap();
    release(&mut store, grant, Cost::Free, Charge::All).unwrap();
    release(&mut store, grant, planned(largest / 2.0), Charge::All).unwrap();
    let fourth = release(&mut store, grant, planned(1e-9), Charge::All);
    assert!(is_budget(&fourth, Pot::Rounds), "{fourth:?}");
    assert_eq!(store.spent(grant), None);
}

#[test]
fn a_round_of_a_plan_costs_at_most_its_inverse_square() {
    for z in [1.0, 2.0, 3.0, 7.0, 10.0, 49.0, 12_345.0] {
        let largest = largest_round(&plan(z));
        // z^2 is exact, and a fused operation rounds once.
        assert!(largest.mul_add(z * z, -1.0) <= 0.0, "{z}: {largest}");
        assert!(largest * z * z > 1.0 - 1e-15, "{z}: {largest}");
    }
    assert!(largest_round(&plan(0.1)) <= 0.1_f64.powi(-2).next_down());
    assert_eq!((largest_round(&plan(1e200)), largest_round(&plan(1e-200))), (0.0, f64::MAX));
}

#[test]
fn pure_releases_add_up() {
    let (mut store, grant) = opened(&pure(1.0), Accounts::One);
    for _ in 0..4 {
        release(&mut store, grant, Cost::Pure { epsilon: 0.25 }, Charge::All).unwrap();
    }
    let fifth = release(&mut store, grant, Cost::Pure { epsilon: 1e-12 }, Charge::All);
    assert!(is_budget(&fifth, Pot::PureGrant));
    let said = fifth.unwrap_err().to_string();
    assert!(said.contains("asked for: epsilon 0.000000000001; left: epsilon 0 "), "{said}");
}

#[test]
fn grants_pay_for_their_own_kind_only() {
    let costs = [message(1e-6), planned(1e-6), Cost::Pure { epsilon: 1e-6 }, Cost::Revealed];
    let offers = [gaussian(1.0, 1e-6), sampled(5.0, 1e-6), pure(1.0), nothing()];
    for (which, offer) in offers.iter().enumerate() {
        for (other, &cost) in costs.iter().enumerate() {
            let (mut store, grant) = opened(offer, Accounts::One);
            let released = release(&mut store, grant, cost, Charge::All);
            match which == other {
                true => assert!(released.is_ok(), "{offer:?} {cost:?}"),
                // What claims nothing is refused as such wherever something was promised.
                false if cost == Cost::Revealed => {
                    assert_eq!(released, Err(Refusal::Revealed { already: false }));
                }
                false => assert!(
                    matches!(released, Err(Refusal::Kind | Refusal::Act(_))),
                    "{offer:?} {cost:?}"
                ),
            }
            assert!(release(&mut store, grant, Cost::Free, Charge::All).is_ok());
        }
    }
    let (mut store, grant) = opened(&simulated(1.0), Accounts::One);
    assert_eq!(release(&mut store, grant, Cost::Revealed, Charge::All), Err(Refusal::Kind));
    assert!(!store.revealed());
}

#[test]
fn slack_and_numbers_are_for_the_life_of_a_store() {
    let policy = pots::policy(20.0, 1e-6, 0.0, 0.5);
    let with_slack = |slack, numbers| Cost::Gaussian { squared: 0.0, slack, numbers };
    let planned = |slack, numbers| Cost::Planned { squared: 0.0, slack, numbers };

    let quarter = quarter_of(SLACK);
    let mut store = MemoryLedger::with_policy(policy.clone()).unwrap();
    let first = store.open(&gaussian(1.0, 1e-7), Accounts::One, &Roll::default).unwrap();
    release(&mut store, first, with_slack(quarter, 1), Charge::All).unwrap();
    store.close(first).unwrap();
    let second = store.open(&gaussian(1.0, 1e-7), Accounts::One, &Roll::default).unwrap();
    let third = store.open(&sampled(5.0, 1e-7), Accounts::One, &Roll::default).unwrap();
    release(&mut store, third, planned(2.0 * quarter, 1), Charge::All).unwrap();
    let over = release(&mut store, second, with_slack(0.251 * SLACK, 1), Charge::All);
    assert_eq!(over, Err(Refusal::Slack));
    release(&mut store, second, with_slack(quarter, 1), Charge::All).unwrap();
    for (grant, cost) in
        [(second, with_slack(1e-11 * SLACK, 1)), (third, planned(1e-11 * SLACK, 1))]
    {
        assert_eq!(release(&mut store, grant, cost, Charge::All), Err(Refusal::Slack));
    }
    release(&mut store, second, Cost::Free, Charge::All).unwrap();

    let mut store = MemoryLedger::with_policy(policy).unwrap();
    let first = store.open(&gaussian(1.0, 1e-7), Accounts::One, &Roll::default).unwrap();
    let second = store.open(&sampled(5.0, 1e-7), Accounts::One, &Roll::default).unwrap();
    release(&mut store, first, with_slack(0.0, MOST_NUMBERS / 2), Charge::All).unwrap();
    for numbers in [MOST_NUMBERS / 2 + 1, u64::MAX] {
        let over = release(&mut store, second, planned(0.0, numbers), Charge::All);
        assert_eq!(over, Err(Refusal::Numbers));
    }
    release(&mut store, second, planned(0.0, MOST_NUMBERS / 2), Charge::All).unwrap();
    let over = release(&mut store, first, with_slack(0.0, 1), Charge::All);
    assert_eq!(over, Err(Refusal::Numbers));
}
