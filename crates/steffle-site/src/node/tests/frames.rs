//! Frames that somebody damaged.

use super::*;

/// 100,000 frames, of which at least half reach the body of a request in a run that goes on around
/// them: no panic, and every one gets a reply that can be read. STEFFLE_NODE_FRAMES asks for more of
/// them; then memory is looked at too, because no other test runs beside them.
#[test]
fn no_frame_ends_a_node() {
    let asked = std::env::var("STEFFLE_NODE_FRAMES").ok().and_then(|count| count.parse().ok());
    let alone = asked.is_some();
    let frames: u32 = asked.unwrap_or(100_000);
    let mut early = None;
    let mut random = stream(11, 0, Purpose::Split, 0);
    let (mut sent, mut inside) = (0_u32, 0_u32);
    let three = || masks::houses(3);
    let houses = [
        (house as fn() -> Vec<Node>, recorded(house)),
        (apart, recorded(apart)),
        (three, recorded(three)),
    ];
    while sent < frames {
        if alone && sent > frames / 4 && early.is_none() {
            early = memory();
        }
        for (nodes, runs) in &houses {
            let run = &runs[random.next_u32() as usize % runs.len()];
            let mut party = Hostile { nodes: nodes(), trips: vec![0; nodes().len()] };
            for (to, message) in run {
                for _ in 0..4 {
                    let mut body = payload(message).to_vec();
                    mutate(&mut body, &mut random);
                    sent += 1;
                    let envelope = party.next(*to, message);
                    let mut bytes = seal(&envelope, &Raw(&body));
                    if random.next_u32().is_multiple_of(4) {
                        mutate(&mut bytes, &mut random);
                    } else {
                        inside += 1;
                    }
                    party.send(*to, &bytes, &mut random);
                }
                // Then as it was, so that the run goes on.
                let envelope = party.next(*to, message);
                party.send(*to, &seal(&envelope, &Raw(payload(message))), &mut random);
            }
        }
    }
    assert!(inside > frames / 2, "{inside} of {sent}");
    if let (Some(early), Some(late)) = (early, memory()) {
        assert!(late < early + 64_000, "from {early} to {late} kB");
    }
}

/// Kilobytes of this process, where the system tells.
fn memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

/// Nodes under a server and a post office that damage what they carry.
struct Hostile {
    nodes: Vec<Node>,
    trips: Vec<u64>,
}

impl Hostile {
    /// What stands on the next message to a node.
    fn next(&mut self, to: NodeId, message: &[u8]) -> Envelope {
        let place = to.0 as usize - 1;
        self.trips[place] += 1;
        Envelope { sequence: self.trips[place], ..parse(message).unwrap().0 }
    }

    fn send(&mut self, to: NodeId, bytes: &[u8], random: &mut impl Rng) {
        let answer = self.nodes[to.0 as usize - 1].handle(NodeId::SERVER, bytes);
        if !answer.reply.is_empty() {
            parse(&answer.reply).unwrap();
        }
        let from = to;
        for Letter { to, mut bytes } in answer.letters {
            if random.next_u32().is_multiple_of(4) {
                mutate(&mut bytes, random);
            }
            for to in to {
                // A damaged roster names nodes that are not there.
                if let Some(node) = self.nodes.get_mut((to.0 as usize).wrapping_sub(1)) {
                    node.handle(from, &bytes);
                }
            }
        }
    }
}

struct Raw<'a>(&'a [u8]);

impl Encode for Raw<'_> {
    fn encode(&self, writer: &mut steffle_wire::Writer) {
        writer.raw(self.0);
    }
}

/// A byte, a run of bytes or a number replaced, or the end cut off.
fn mutate(bytes: &mut Vec<u8>, random: &mut impl Rng) {
    if bytes.is_empty() {
        bytes.push(random.next_u32() as u8);
        return;
    }
    let at = random.next_u32() as usize % bytes.len();
    match random.next_u32() % 5 {
        0 => bytes[at] ^= 1 << (random.next_u32() % 8),
        1 => bytes[at] = random.next_u32() as u8,
        2 => {
            let number = [f64::NAN, f64::INFINITY, 1e308, -1e308, 5e-324, -0.0, 1e12];
            let number = number[random.next_u32() as usize % number.len()].to_le_bytes();
            let end = (at + 8).min(bytes.len());
            bytes[at..end].copy_from_slice(&number[..end - at]);
        }
        3 => {
            let end = (at + 4).min(bytes.len());
            bytes[at..end].fill(0xff);
        }
        _ => bytes.truncate(at),
    }
}
