use super::*;

mod epochs;

const RUN: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
const TERMS: Terms = Terms { run: RUN, role: 3, colluders: 1, noise: 1, shared: Some(1) };

fn identity(site: u8) -> Identity {
    Identity::new(&[site + 1; 32])
}

fn secret(site: u8) -> Secret {
    Secret { key: [site + 11; 32], nonce: [site + 21; 16] }
}

fn roster(sites: u8) -> Roster {
    let site = |site: u8| (identity(site).fingerprint(), format!("site {site}"));
    Roster::new((0..sites).map(site)).unwrap()
}

fn greeting(site: u8, sites: u8, terms: Terms) -> Greeting {
    Greeting::new(&identity(site), roster(sites), terms, (&secret(site), 4)).unwrap()
}

fn hellos(greetings: &[Greeting]) -> Vec<Vec<u8>> {
    greetings.iter().map(|own| own.hello().to_bytes()).collect()
}

fn meet(greeting: &Greeting, hellos: &[Vec<u8>]) -> Result<Meeting, MeetError> {
    greeting.meet(&hellos.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

fn meetings(sites: u8) -> Vec<Meeting> {
    let all: Vec<Greeting> = (0..sites).map(|site| greeting(site, sites, TERMS)).collect();
    all.iter().map(|own| meet(own, &hellos(&all)).unwrap_or_else(|e| panic!("{e}"))).collect()
}

fn asked(sequence: u64, kind: u8, round: u32, body: &[u8]) -> Asked<'_> {
    Asked { sequence, kind, round, body }
}

/// A history of two requests.
fn history() -> History {
    let mut history = History::new(RUN, roster(3).digest());
    history.push(&asked(2, 15, 0, b"meet"));
    history.push(&asked(5, 4, 7, b"body"));
    history
}

fn total(meetings: &[Meeting], contexts: &[Hash], count: usize) -> Vec<i128> {
    let mut all = vec![0_i128; count];
    for (meeting, context) in meetings.iter().zip(contexts) {
        let pads = meeting.pads(context).unwrap().next(count);
        all.iter_mut().zip(pads).for_each(|(sum, pad)| *sum = sum.wrapping_add(pad));
    }
    all
}

/// Every number was computed by another program, from the RFCs of X25519, Ed25519, HKDF and ChaCha20.
#[test]
fn masks_are_known_numbers() {
    assert_eq!(
        identity(0).fingerprint().to_string(),
        "3475 0f98 bd59 fcfc 946d a45a aabe 933b e154 a4b5 094e 1c4a bf42 8665 05f3 c97e"
    );
    let named = |hash: Hash| Fingerprint(hash).to_string().replace(' ', "");
    assert_eq!(
        named(roster(3).digest()),
        "b22f3676815914fb961200b277179a6fa78580081742b2b2869ec3fe31706bd4"
    );
    let hello = greeting(0, 3, TERMS).hello().to_bytes();
    assert_eq!(
        named(Fingerprint::of_bytes(&hello).0),
        "d87acf4721cf45424de6cbf1c2ed077a95f083f61c6814059f12c11c37f601bc"
    );
    assert_eq!(
        named(history().context()),
        "777e5bde2f27f21eb2e28c8b6cc4dc53977d687673cf1a96655c5dbf720ed4a0"
    );
    let expected: [[i128; 6]; 3] = [
        [
            -67_073_903_620_736_438_665_830_961_906_825_874_694,
            -163_263_258_946_320_797_772_279_711_004_767_825_396,
            -80_428_710_674_440_505_104_336_104_286_606_738_337,
            83_773_388_469_314_872_538_335_044_273_465_371_747,
            -128_641_232_058_711_256_749_689_104_883_726_328_048,
            168_087_169_474_146_167_728_918_988_655_036_531_340,
        ],
        [
            131_964_016_201_110_487_999_864_187_809_855_320_045,
            104_534_517_148_843_870_981_110_041_556_290_165_200,
            -99_669_299_320_612_373_469_899_030_519_575_940_529,
            54_512_088_096_612_409_033_638_073_936_960_004_869,
            43_993_524_978_778_624_888_220_023_103_197_903_245,
            -60_228_538_410_397_107_564_885_067_864_891_201_983,
        ],
        [
            -64_890_112_580_374_049_334_033_225_903_029_445_351,
            58_728_741_797_476_926_791_169_669_448_477_660_196,
            -160_184_356_925_885_584_889_139_472_625_585_532_590,
            -138_285_476_565_927_281_571_973_118_210_425_376_616,
            84_647_707_079_932_631_861_469_081_780_528_424_803,
            -107_858_631_063_749_060_164_033_920_790_145_329_357,
        ],
    ];
    for (meeting, expected) in meetings(3).iter().zip(expected) {
        // In two parts: a mask goes on where it was.
        let mut pads = meeting.pads(&history().context()).unwrap();
        let found = [pads.next(2), pads.next(4)].concat();
        assert_eq!(found, expected);
    }
}

#[test]
fn masks_of_all_sites_cancel_and_of_fewer_do_not() {
    for sites in [2, 3, 12] {
        let meetings = meetings(sites);
        let contexts = vec![history().context(); usize::from(sites)];
        assert_eq!(total(&meetings, &contexts, 100), [0; 100], "{sites} sites");
        let fewer = total(&meetings[1..], &contexts[1..], 100);
        assert!(fewer.iter().all(|number| number.unsigned_abs() > 1 << 100), "{sites} sites");
    }
}

/// The run, the roster, every request, its number, kind, round and body, and their order.
#[test]
fn everything_that_was_asked_changes_the_mask() {
    let first = asked(2, 15, 0, b"meet");
    let pushed = |roster: Hash, run: [u8; 16], all: &[Asked<'_>]| {
        let mut history = History::new(run, roster);
        all.iter().for_each(|asked| history.push(asked));
        history.context()
    };
    let (own, other) = (roster(3).digest(), roster(4).digest());
    let names = [
        pushed(own, RUN, &[first, asked(5, 4, 7, b"body")]),
        pushed(other, RUN, &[first, asked(5, 4, 7, b"body")]),
        pushed(own, [9; 16], &[first, asked(5, 4, 7, b"body")]),
        pushed(own, RUN, &[asked(5, 4, 7, b"body")]),
        pushed(own, RUN, &[asked(5, 4, 7, b"body"), first]),
        pushed(own, RUN, &[asked(2, 15, 0, b"met"), asked(5, 4, 7, b"body")]),
        pushed(own, RUN, &[first, asked(6, 4, 7, b"body")]),
        pushed(own, RUN, &[first, asked(5, 5, 7, b"body")]),
        pushed(own, RUN, &[first, asked(5, 4, 8, b"body")]),
        pushed(own, RUN, &[first, asked(5, 4, 7, b"bodY")]),
        pushed(own, RUN, &[first, asked(5, 4, 7, b"body"), asked(5, 4, 7, b"body")]),
    ];
    for (at, one) in names.iter().enumerate() {
        assert!(names[at + 1..].iter().all(|two| one != two), "{at}");
    }
}

/// One site with another history: of 1,000 totals none is near what a sum can be. (By chance one would
/// be with probability 1,000 / 2^27.)
#[test]
fn sites_that_were_asked_something_else_leave_noise() {
    let meetings = meetings(3);
    let mut other = history();
    other.push(&asked(6, 8, 0, b"one site took something else in"));
    let contexts = [history().context(), history().context(), other.context()];
    let garbage = total(&meetings, &contexts, 1000);
    assert!(garbage.iter().all(|number| number.unsigned_abs() > 1 << 100));
}

#[test]
fn strangers_replays_and_low_order_keys_are_refused_by_name() {
    let all: Vec<Greeting> = (0..3).map(|site| greeting(site, 3, TERMS)).collect();
    let said = hellos(&all);
    let refused = |hellos: &[Vec<u8>]| meet(&all[0], hellos).err();
    assert_eq!(refused(&said), None);
    // In any order: places are those of fingerprints.
    assert_eq!(refused(&[said[2].clone(), said[0].clone(), said[1].clone()]), None);
    // Somebody who is not pinned, in place of a site and beside them.
    let stranger = Greeting::new(
        &identity(7),
        Roster::new((0..3).chain([7]).map(|site| (identity(site).fingerprint(), String::new())))
            .unwrap(),
        TERMS,
        (&secret(7), 4),
    );
    let stranger = stranger.unwrap_or_else(|e| panic!("{e}")).hello().to_bytes();
    let unknown = Some(MeetError::Unknown(identity(7).fingerprint()));
    assert_eq!(refused(&[said[0].clone(), said[1].clone(), stranger.clone()]), unknown);
    let number = Some(MeetError::Number { found: 4, known: 3 });
    assert_eq!(refused(&[&said[..], &[stranger]].concat()), number);
    assert_eq!(refused(&said[..2]), Some(MeetError::Number { found: 2, known: 3 }));
    let twice = [said[0].clone(), said[1].clone(), said[1].clone()];
    assert_eq!(refused(&twice), Some(MeetError::Twice("site 1".to_owned())));
    // A hello of another run, roster, role, number of colluders, noise or way to share it.
    for terms in [
        Terms { run: [7; 16], ..TERMS },
        Terms { role: 1, ..TERMS },
        Terms { colluders: 0, ..TERMS },
        Terms { noise: 0, ..TERMS },
        Terms { shared: None, ..TERMS },
        Terms { shared: Some(0), ..TERMS },
    ] {
        let replayed = greeting(1, 3, terms).hello().to_bytes();
        let hellos = [said[0].clone(), replayed, said[2].clone()];
        assert_eq!(refused(&hellos), Some(MeetError::Signature("site 1".to_owned())), "{terms:?}");
    }
    let larger = greeting(1, 4, TERMS).hello().to_bytes();
    let hellos = [said[0].clone(), larger, said[2].clone()];
    assert_eq!(refused(&hellos), Some(MeetError::Signature("site 1".to_owned())));
    // A hello whose keys, nonce, epoch or signature were changed on the way.
    for at in [0, 40, 70, 80, 83, 100] {
        let mut changed = said.clone();
        changed[1][at] ^= 1;
        assert!(refused(&changed).is_some(), "byte {at}");
    }
    // Its own hello, replaced by an older one of its own.
    let old = Secret { key: [99; 32], nonce: [98; 16] };
    let own = Greeting::new(&identity(0), roster(3), TERMS, (&old, 4));
    let own = own.unwrap_or_else(|e| panic!("{e}")).hello().to_bytes();
    assert_eq!(refused(&[own, said[1].clone(), said[2].clone()]), Some(MeetError::Own));
    // Keys with which X25519 gives everybody the same.
    for point in [[0; 32], {
        let mut one = [0; 32];
        one[0] = 1;
        one
    }] {
        let signed = all[1].signed_again(&identity(1), point);
        let hellos = [said[0].clone(), signed, said[2].clone()];
        assert_eq!(refused(&hellos), Some(MeetError::LowOrder("site 1".to_owned())));
    }
}

#[test]
fn a_roster_has_every_key_once_and_its_name_knows_no_names() {
    let site = |site: u8, name: &str| (identity(site).fingerprint(), name.to_owned());
    let one = Roster::new([site(0, "a"), site(1, "b"), site(2, "c")]).unwrap();
    let two = Roster::new([site(2, "x"), site(0, "y"), site(1, "z")]).unwrap();
    assert_eq!(one.digest(), two.digest());
    assert_ne!(one.digest(), Roster::new([site(0, "a"), site(1, "b")]).unwrap().digest());
    let twice = Roster::new([site(0, "a"), site(1, "b"), site(0, "c")]);
    assert_eq!(twice, Err(RosterError::Twice("a".to_owned(), "c".to_owned())));
    let many = Roster::new((0..128).map(|at| (Fingerprint([at; 32]), String::new())));
    assert_eq!(many, Err(RosterError::Many(128)));
    let digits = identity(0).fingerprint().to_string();
    assert_eq!(digits.parse(), Ok(identity(0).fingerprint()));
    assert_eq!(digits.replace(' ', ":").to_uppercase().parse(), Ok(identity(0).fingerprint()));
    assert_eq!("34".parse::<Fingerprint>(), Err(NoFingerprint));
}

fn journal() -> Journal {
    Journal::new([], Box::new(Memory::new(b"test")))
}

#[test]
fn a_number_has_one_reply_and_a_store_one_roster() {
    let mut own = journal();
    let first = own.begin([1; 32], [2; 32]).unwrap();
    own.answer(4, [5; 32], [6; 32]).unwrap();
    own.answer(4, [5; 32], [6; 32]).unwrap();
    // Edited data: another reply under the same mask. Another question: another mask.
    assert_eq!(own.answer(4, [5; 32], [7; 32]), Err(JournalError::Twice(4)));
    assert_eq!(own.answer(4, [8; 32], [6; 32]), Err(JournalError::Twice(4)));
    assert_eq!(own.answer(3, [5; 32], [6; 32]), Err(JournalError::Twice(3)), "an older number");
    // The same run goes on with its secret, another one has another.
    assert!(own.begin([1; 32], [2; 32]).unwrap() == first);
    assert!(own.begin([1; 32], [3; 32]).unwrap() != first);
    assert_eq!(own.begin([9; 32], [4; 32]).err(), Some(JournalError::Roster([1; 32])));
    assert_eq!(own.clear(), Err(JournalError::Roster([1; 32])), "in the clear neither");
    own.accept([9; 32]).unwrap();
    own.begin([9; 32], [4; 32]).unwrap();
    assert_eq!(own.begin([1; 32], [5; 32]).err(), Some(JournalError::Roster([9; 32])));
}

#[test]
fn a_run_that_ended_is_over() {
    let mut own = journal();
    own.begin([1; 32], [2; 32]).unwrap();
    own.end().unwrap();
    assert!(own.ended());
    assert_eq!(own.answer(4, [5; 32], [6; 32]), Err(JournalError::Over));
    assert_eq!(own.begin([1; 32], [2; 32]).err(), Some(JournalError::Over));
    own.begin([1; 32], [3; 32]).unwrap();
}

#[test]
fn lines_come_back_from_text() {
    let lines = [
        Line::Roster([1; 32]),
        Line::Begin([2; 32]),
        Line::Answer { sequence: 7, context: [3; 32], reply: [4; 32] },
        Line::End,
        Line::Epoch { number: 3, digest: [5; 32] },
        Line::Met { colluders: 1, epochs: vec![0, 3, 1] },
    ];
    for line in lines {
        assert_eq!(Line::from_text(&line.to_text()), Some(line));
    }
    for text in
        ["", "roster", "roster 12", "answer 1 2 3", "end of it", "begin  ", "epoch 1", "met 1 2,"]
    {
        assert_eq!(Line::from_text(text), None, "{text}");
    }
}

/// What a mask is made of, each of which can be left out.
#[derive(Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is a part of its own")]
struct Bound {
    history: bool,
    roster: bool,
    sequence: bool,
    sign: bool,
}

const ALL: Bound = Bound { history: true, roster: true, sequence: true, sign: true };

/// A mask's name, made by hand of the design's words.
fn name(bound: Bound, roster: Hash, all: &[Asked<'_>]) -> Hash {
    let mut now = [0; 32];
    let from = if bound.history { 0 } else { all.len().saturating_sub(1) };
    for asked in &all[from..] {
        let sequence = if bound.sequence { asked.sequence } else { 0 };
        let (sequence, round) = (sequence.to_le_bytes(), asked.round.to_le_bytes());
        let body = hash(&[asked.body]);
        now = hash(&[b"steffle history 1", &now, &sequence, &[asked.kind], &round, &body]);
    }
    let roster = if bound.roster { roster } else { [0; 32] };
    hash(&[b"steffle mask 1", &RUN, &roster, &now])
}

/// The mask of one of three sites under a name, by hand: X25519, HKDF and ChaCha20 by pairs.
fn by_hand(site: u8, bound: Bound, context: Hash) -> Vec<i128> {
    use chacha20::cipher::{KeyIvInit as _, StreamCipher as _};
    let greetings: Vec<Greeting> = (0..3).map(|site| greeting(site, 3, TERMS)).collect();
    // Places are those of fingerprints.
    let roster = roster(3);
    let mut placed: Vec<(usize, u8)> =
        (0..3).map(|site| (roster.place(identity(site).fingerprint()).unwrap(), site)).collect();
    placed.sort_unstable();
    let said: Vec<Vec<u8>> =
        placed.iter().map(|(_, site)| greetings[usize::from(*site)].hello().to_bytes()).collect();
    let salt = hash(&said.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let place = |of: u8| placed.iter().find(|(_, site)| *site == of).unwrap().0;
    let mut mask = vec![0_i128; 8];
    for other in (0..3).filter(|other| *other != site) {
        let own = x25519_dalek::StaticSecret::from(secret(site).key);
        let theirs = x25519_dalek::StaticSecret::from(secret(other).key);
        let shared = own.diffie_hellman(&x25519_dalek::PublicKey::from(&theirs));
        let (mine, others) = (place(site), place(other));
        let (low, high) = (mine.min(others) as u64, mine.max(others) as u64);
        let info = hash(&[&context, &low.to_le_bytes(), &high.to_le_bytes()]);
        let mut key = [0; 32];
        hkdf::Hkdf::<sha2::Sha256>::new(Some(&salt), shared.as_bytes())
            .expand(&info, &mut key)
            .unwrap();
        let mut bytes = vec![0_u8; 16 * mask.len()];
        chacha20::ChaCha20::new(&key.into(), &[0; 12].into()).apply_keystream(&mut bytes);
        for (own, bytes) in mask.iter_mut().zip(bytes.as_chunks().0) {
            let pad = i128::from_le_bytes(*bytes);
            let adds = mine < others || !bound.sign;
            *own = if adds { own.wrapping_add(pad) } else { own.wrapping_sub(pad) };
        }
    }
    mask
}

/// What every part of a mask is there for: made by hand without it, masks cancel, or come again, in the
/// attack that it closes; with it, and made by this crate, they do not. So whoever leaves one out here
/// sees this test fail.
#[test]
fn a_mask_without_history_roster_sequence_or_sign_would_show_a_site() {
    let own = roster(3).digest();
    let (meet, body) = (asked(2, 15, 0, b"meet"), asked(6, 4, 7, b"body"));
    let (taken, other) = (asked(5, 8, 0, b"all are members"), asked(5, 8, 0, b"nobody is"));
    let total = |bound: Bound, asked: [&[Asked<'_>]; 3]| {
        let masks = (0_u8..).zip(asked).map(|(at, all)| by_hand(at, bound, name(bound, own, all)));
        masks.reduce(|a, b| a.iter().zip(b).map(|(a, b)| a.wrapping_add(b)).collect()).unwrap()
    };
    let crate_s = |all: &[Asked<'_>], site: usize| {
        let mut history = meetings(3)[site].history();
        all.iter().for_each(|asked| history.push(asked));
        meetings(3)[site].pads(&history.context()).unwrap().next(8)
    };
    let usual = [meet, taken, body];
    for site in 0..3 {
        assert_eq!(by_hand(site, ALL, name(ALL, own, &usual)), crate_s(&usual, site.into()));
    }
    let noise = |numbers: &[i128]| numbers.iter().all(|number| number.unsigned_abs() > 1 << 90);
    assert_eq!(total(ALL, [&usual; 3]), [0; 8]);
    // History: one site took something else in, then all are asked the same.
    let apart: [&[Asked<'_>]; 3] = [&usual, &[meet, other, body], &usual];
    assert!(noise(&total(ALL, apart)));
    assert_eq!(total(Bound { history: false, ..ALL }, apart), [0; 8], "that site's table alone");
    // Sequence: the same question comes again; the difference of two replies would be in the clear.
    let again = [meet, taken, asked(7, 4, 7, b"body")];
    let forgets = Bound { sequence: false, ..ALL };
    assert_ne!(name(ALL, own, &usual), name(ALL, own, &again));
    assert_eq!(name(forgets, own, &usual), name(forgets, own, &again), "one mask, two replies");
    // Roster: the same question under another roster.
    let forgets = Bound { roster: false, ..ALL };
    let larger = roster(4).digest();
    assert_ne!(name(ALL, own, &usual), name(ALL, larger, &usual));
    assert_eq!(name(forgets, own, &usual), name(forgets, larger, &usual));
    // Sign: nothing cancels, and no total is read.
    assert!(noise(&total(Bound { sign: false, ..ALL }, [&usual; 3])));
}
