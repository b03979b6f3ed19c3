//! Parties that do not keep to the protocol: refused, and named.

use super::relay::Reply;
use super::{Relay, expected, handed_out, model};
use crate::harness::{Place, pairs, people};

/// What a run says whose replies of one exchange were tampered with.
fn tampered(place: &Place, at: usize, tamper: impl Fn(&mut Vec<Reply>, &[Reply])) -> (i32, String) {
    let mut relay = Relay::start(place, "run", &["--rounds", "3", "--epsilon", "1", "--force"]);
    let mut before = Vec::new();
    while let Some(requests) = relay.next() {
        let mut replies = relay.ask(&requests);
        if relay.carried == at {
            tamper(&mut replies, &before);
        }
        before.clone_from(&replies);
        relay.give(&replies);
    }
    relay.end()
}

fn bytes(reply: &mut Reply) -> &mut Vec<u8> {
    reply.as_mut().unwrap()
}

#[test]
fn sites_that_reply_out_of_shape_late_or_for_others_are_named() {
    let place = handed_out("hostile-sites", &pairs(0..200), &["--silos", "2"]);
    for (what, tamper) in [
        (
            "cut off",
            (|replies, _| bytes(&mut replies[1]).truncate(90)) as fn(&mut Vec<Reply>, &[Reply]),
        ),
        ("too long", |replies, _| bytes(&mut replies[1]).push(0)),
        ("empty", |replies, _| bytes(&mut replies[1]).clear()),
        ("of another protocol", |replies, _| bytes(&mut replies[1])[4] = 99),
        ("of another run", |replies, _| bytes(&mut replies[1])[30] ^= 1),
        ("of another site", |replies, _| replies[1] = replies[0].clone()),
        ("late: of the trip before", |replies, before| replies[1] = before[1].clone()),
        ("of a size beyond memory", |replies, _| bytes(&mut replies[1])[76..84].fill(0xff)),
        ("of numbers beyond their range", |replies, _| {
            let reply = bytes(&mut replies[1]);
            let end = reply.len();
            reply[84..end].fill(0x7f);
        }),
    ] {
        for at in [5, 14] {
            let (status, stderr) = tampered(&place, at, tamper);
            assert_eq!(status, 3, "{what} at {at}: {stderr}");
            assert!(stderr.contains("silo 1 (silo-2)"), "{what} at {at}: {stderr}");
        }
    }
    // One that comes twice is no reply to anything.
    let twice = |replies: &mut Vec<Reply>, _: &[Reply]| replies.push(replies[1].clone());
    let (status, stderr) = tampered(&place, 5, twice);
    assert!(status == 3 && stderr.contains("3 replies to 2 requests"), "{stderr}");
    // Nobody tampers: the run that all of these were before.
    let wanted = expected(&place, &["--rounds", "3", "--epsilon", "1"]);
    let (status, stderr) = tampered(&place, 5, |_, _| {});
    assert_eq!((status, model(&place, "run")), (0, wanted), "{stderr}");
}

/// What is done to the bytes of a request.
type Damage = fn(&mut Vec<u8>);

/// What a hostile server makes of the arrays in its requests.
const DAMAGES: [(&str, Damage); 4] = [
    ("numbers that are not finite", |request| {
        let end = request.len();
        request[end - 64..].fill(0xff);
    }),
    ("an array of a size beyond memory", |request| request[76..84].fill(0xff)),
    ("an array that is cut off", |request| request.truncate(request.len() - 9)),
    ("more than the array it names", |request| request.extend([1; 16])),
];

/// A server that asks again with other words, or changes what was agreed on: the site refuses.
#[test]
fn a_server_that_changes_its_words_is_refused() {
    let flags = ["--silos", "2", "--split", "--holders", "1"];
    let place = handed_out("hostile-server", &people(0..200), &flags);
    let mut relay = Relay::start(&place, "run", &["--rounds", "3", "--epsilon", "1"]);
    let refused = |replies: Vec<Reply>, words: &[&str]| {
        for reply in replies {
            let reply = reply.unwrap();
            // The part of a message is its eighth byte; 3 is a refusal.
            assert_eq!(reply[7], 3, "{}", String::from_utf8_lossy(&reply));
            let text = String::from_utf8_lossy(&reply[76..]).into_owned();
            assert!(words.iter().any(|word| text.contains(word)), "{text}");
        }
    };
    let mut trips = 0;
    while let Some(requests) = relay.next() {
        let replies = relay.ask(&requests);
        let changed = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut requests = requests.clone();
            requests.iter_mut().for_each(|(_, request)| change(request));
            requests
        };
        // The same trip with another last byte; the next trip with the numbers of theta not finite.
        if requests[0].1.len() > 200 {
            let other = relay.ask(&changed(&|request| *request.last_mut().unwrap() ^= 1));
            refused(other, &["was another request", "is over", "joined", "trip"]);
            // Nothing of these is used: the run goes on as if it had not been asked.
            for (what, damage) in DAMAGES {
                let other = relay.ask(&changed(&|request| {
                    // The number of a trip that has not come yet.
                    request[16..24].copy_from_slice(&u64::MAX.to_le_bytes());
                    damage(request);
                }));
                for reply in &other {
                    assert_eq!(reply.as_ref().unwrap()[7], 3, "{what}");
                }
            }
            trips += 1;
        }
        relay.give(&replies);
    }
    let (status, stderr) = relay.end();
    assert!(trips > 5, "{trips}");
    assert_eq!(status, 0, "{stderr}");
    let wanted = expected(&place, &["--rounds", "3", "--epsilon", "1"]);
    assert_eq!(model(&place, "run"), wanted, "the run does not notice");
}
