//! A conversation with the same sites in three worlds, which differ in one cell of the sensitive column.

use std::sync::{Arc, Mutex};

use steffle::node::Node;
use steffle::protocol::{
    Answer, Count, Described, Envelope, Join, Kind, Letter, Loss, Meet, NodeId, Part, Reader,
    Round, SchemaHash, decode, parse, payload, seal,
};
use steffle_data::Schema;

use crate::book::{Does, Overheard, SharedBook, lock};
use crate::dice::Dice;
use crate::honest::Conversation;
use crate::leaves::{Tally, columns, policy};
use crate::mutate::{self, Raw, bytes};
use crate::spoiled::{Spoil, Spoiled};
use crate::world::{Files, Setting};

/// Hands a message to a node, as a carrier does that believes what stands on it.
pub(crate) fn hand(node: &mut Node, message: &[u8]) -> Answer {
    let from = parse(message).map_or(NodeId::SERVER, |(envelope, _)| envelope.from);
    node.handle(from, message)
}

/// One world: its files, its nodes, and what its books did.
pub(crate) struct World {
    pub(crate) nodes: Vec<Node>,
    pub(crate) heard: Vec<Arc<Mutex<Overheard>>>,
}

impl World {
    /// Brings up all parties of a folder. Where `heard` is given, books echo what was heard there.
    pub(crate) fn new(
        files: &Files,
        setting: Setting,
        heard: Option<&[Arc<Mutex<Overheard>>]>,
        (discreet, spoil): (bool, Option<(usize, Spoil, &str)>),
    ) -> Result<Self, String> {
        let mut world = Self { nodes: Vec::new(), heard: Vec::new() };
        for place in 0..setting.parties() {
            let (site, allows) = files.site(place).map_err(|error| error.to_string())?;
            let own = heard.map_or_else(Arc::default, |all| all[place].clone());
            let does = match heard {
                None => Does::Speaks(own.clone()),
                Some(_) => Does::Echoes(own.clone()),
            };
            let book = Box::new(SharedBook::new(policy(), &columns(setting.units), does));
            let how = (allows, discreet);
            world.nodes.push(match spoil {
                Some((at, spoil, cell)) if at == place => {
                    files.node(place, Spoiled::new(site, spoil, cell), how, book)
                }
                _ => files.node(place, site, how, book),
            });
            world.heard.push(own);
        }
        Ok(world)
    }
}

/// The worlds, and where the conversation with them is.
pub(crate) struct Talk {
    worlds: [World; 3],
    /// Where the files of the first two lie.
    places: [String; 2],
    /// What a log must not say.
    cell: Option<String>,
    sequence: u64,
    hellos: Vec<Vec<u8>>,
    /// Per node the schema that it joined under.
    joined: Vec<Option<(SchemaHash, usize)>>,
    /// In place of the schema that was recorded.
    schema: Option<Schema>,
    letters: Vec<(Letter, Option<Letter>)>,
    tally: Tally,
}

impl Talk {
    /// Begins. No log may tell `cell`; `schema` stands in place of the one that was recorded.
    pub(crate) fn new(
        (worlds, places): ([World; 3], [String; 2]),
        cell: Option<String>,
        schema: Option<Schema>,
        tally: Tally,
    ) -> Self {
        let parties = worlds[0].nodes.len();
        let (hellos, joined) = (vec![Vec::new(); parties], vec![None; parties]);
        Self {
            worlds,
            places,
            cell,
            sequence: 0,
            hellos,
            joined,
            schema,
            letters: Vec::new(),
            tally,
        }
    }

    /// What became of it.
    pub(crate) fn finish(mut self) -> Tally {
        let echoed = self.worlds[0].heard.iter().map(|own| lock(own).echoed);
        self.tally.released += echoed.sum::<u64>();
        self.tally
    }

    /// Hands a message to the same node of all worlds, and compares what leaves.
    fn send(&mut self, to: NodeId, message: &[u8]) -> Result<Answer, String> {
        let place = to.0 as usize - 1;
        let one = hand(&mut self.worlds[0].nodes[place], message);
        let two = hand(&mut self.worlds[1].nodes[place], message);
        let three = hand(&mut self.worlds[2].nodes[place], message);
        // Files of the worlds lie in places of the same length.
        let at_one = Answer { reply: self.at_one(&two.reply), ..two.clone() };
        if one != at_one {
            return Err(format!("{to} says {} and {}", said(&one), said(&two)));
        }
        let paid = |world: &World| lock(&world.heard[place]).paid.clone();
        if paid(&self.worlds[0]) != paid(&self.worlds[2]) {
            return Err(format!("{to} pays another price for another s: {}", said(&one)));
        }
        if !lock(&self.worlds[0].heard[place]).waiting.is_empty() {
            return Err(format!("{to} released what it did not say: {}", said(&one)));
        }
        self.check_remarks(place)?;
        let mut others = three.letters.into_iter();
        self.letters.extend(one.letters.iter().map(|own| (own.clone(), others.next())));
        Ok(one)
    }

    /// Bytes of the second world as if its files lay where those of the first do.
    fn at_one(&self, reply: &[u8]) -> Vec<u8> {
        let [one, two] = &self.places;
        let mut reply = reply.to_vec();
        let found = |at: &usize| reply[*at..].starts_with(two.as_bytes());
        for at in (0..reply.len()).filter(found).collect::<Vec<_>>() {
            reply[at..at + one.len()].copy_from_slice(one.as_bytes());
        }
        reply
    }

    /// A site's own log does not tell a cell of the sensitive column.
    fn check_remarks(&mut self, place: usize) -> Result<(), String> {
        for world in &mut self.worlds {
            for remark in world.nodes[place].remarks() {
                if self.cell.as_ref().is_some_and(|cell| remark.contains(cell.as_str())) {
                    return Err(format!("a log tells a cell: {remark}"));
                }
            }
        }
        Ok(())
    }

    /// A recorded payload as it fits what was said since.
    fn current(&self, to: NodeId, kind: Kind, payload: &[u8]) -> Vec<u8> {
        let place = to.0 as usize - 1;
        let theta = |old: &mut Vec<f64>| {
            if let Some((_, features)) = self.joined[place] {
                old.resize(features + 1, 0.1);
            }
        };
        let reader = || Reader::new(payload);
        let changed = match kind {
            Kind::Meet => decode::<Meet>(reader())
                .map(|meet| bytes(&Meet { hellos: self.hellos.clone(), ..meet })),
            Kind::Join => decode::<Join>(reader()).map(|mut join| {
                if let Some(schema) = &self.schema {
                    join.schema = serde_json::to_vec(schema).unwrap_or_default();
                }
                bytes(&join)
            }),
            Kind::Loss => decode::<Loss>(reader()).map(|mut own| {
                theta(&mut own.theta);
                bytes(&own)
            }),
            Kind::Count => decode::<Count>(reader()).map(|mut own| {
                theta(&mut own.theta);
                bytes(&own)
            }),
            Kind::Round => decode::<Round<'static>>(reader()).map(|mut own| {
                theta(&mut own.question.to_mut().theta);
                bytes(&own)
            }),
            _ => Ok(payload.to_vec()),
        };
        changed.unwrap_or_else(|_| payload.to_vec())
    }

    /// Asks a node; says whether it answered.
    fn ask(
        &mut self,
        (to, envelope): (NodeId, Envelope),
        payload: &[u8],
        hash: Option<SchemaHash>,
    ) -> Result<bool, String> {
        let place = to.0 as usize - 1;
        let own = match envelope.kind {
            Kind::Join => {
                let join = decode::<Join>(Reader::new(payload)).ok();
                join.and_then(|join| serde_json::from_slice::<Schema>(&join.schema).ok())
                    .map(|schema| (SchemaHash(schema.hash()), schema.layout().features))
            }
            _ => self.joined[place],
        };
        let schema = hash.or(own.map(|(hash, _)| hash)).unwrap_or(envelope.schema);
        self.sequence += 1;
        let envelope = Envelope { sequence: self.sequence, schema, ..envelope };
        let answer = self.send(to, &seal(&envelope, &Raw(payload)))?;
        let Ok((told, reader)) = parse(&answer.reply) else { return Ok(false) };
        let accepted = told.part == Part::Reply;
        if accepted {
            match envelope.kind {
                Kind::Describe => {
                    self.joined[place] = None;
                    self.hellos[place] =
                        decode::<Described>(reader).map_or(Vec::new(), |own| own.hello);
                }
                Kind::Join => self.joined[place] = own,
                Kind::Open => self.tally.opened += 1,
                _ => {}
            }
        }
        Ok(accepted)
    }

    /// Sends a request, and before or instead of it one in other words.
    fn request(&mut self, dice: &mut Dice, to: NodeId, message: &[u8]) -> Result<(), String> {
        let Ok((envelope, _)) = parse(message) else { return Ok(()) };
        let kind = envelope.kind;
        let honest = self.current(to, kind, payload(message));
        if dice.percent(45) {
            let (changed, hash) = mutate::request(dice, kind, &honest);
            let mut on = envelope;
            if dice.percent(8) {
                match dice.below(4) {
                    0 => on.from = NodeId(dice.below(5) as u32),
                    1 => on.to = NodeId(dice.below(5) as u32),
                    2 => on.round = dice.below(4) as u32,
                    _ => on.kind = *dice.of(&Kind::ALL),
                }
            }
            let accepted = self.ask((to, on), &changed, hash)?;
            self.tally.mutated += 1;
            self.tally.accepted += u64::from(accepted);
            if accepted && dice.percent(70) {
                return Ok(());
            }
        }
        self.ask((to, envelope), &honest, None)?;
        Ok(())
    }

    /// Delivers the letters of an exchange: most as they are, some changed, late, twice or not at all.
    fn deliver(&mut self, dice: &mut Dice) -> Result<(), String> {
        let mut letters = std::mem::take(&mut self.letters);
        if dice.percent(10) {
            letters.reverse();
        }
        for (own, other) in letters {
            let mut change = None;
            if dice.percent(15) {
                self.tally.mutated += 1;
                change = Some(Dice::new(dice.next()));
            } else if dice.percent(4) {
                continue;
            }
            let times = 1 + usize::from(dice.percent(4));
            let carried = |letter: &Letter| match change.clone() {
                Some(mut dice) => changed_letter(&mut dice, &letter.bytes),
                None => letter.bytes.clone(),
            };
            let (bytes, others) = (carried(&own), other.as_ref().map(carried));
            let parties = self.joined.len();
            for to in own.to.iter().filter(|to| (1..=parties).contains(&(to.0 as usize))) {
                let place = to.0 as usize - 1;
                for _ in 0..times {
                    let one = hand(&mut self.worlds[0].nodes[place], &bytes);
                    let two = hand(&mut self.worlds[1].nodes[place], &bytes);
                    if one != two {
                        return Err(format!(
                            "{to} answers a letter: {} {}",
                            said(&one),
                            said(&two)
                        ));
                    }
                    if let Some(others) = &others {
                        hand(&mut self.worlds[2].nodes[place], others);
                    }
                    self.check_remarks(place)?;
                }
            }
        }
        Ok(())
    }

    pub(crate) fn talk(
        &mut self,
        dice: &mut Dice,
        conversation: &Conversation,
    ) -> Result<(), String> {
        for (at, exchange) in conversation.iter().enumerate() {
            for (to, message) in exchange {
                self.request(dice, *to, message)?;
                if dice.percent(5) {
                    // Another message of the run, too early or too late.
                    let exchange = &conversation[dice.below(conversation.len())];
                    let (to, other) = dice.of(exchange);
                    self.request(dice, *to, other)?;
                }
                if dice.percent(3) {
                    // The same bytes as they were recorded.
                    self.send(*to, message)?;
                }
            }
            if at > 0 || dice.percent(90) {
                self.deliver(dice)?;
            }
        }
        Ok(())
    }
}

/// A letter with other words, or from another sender.
pub(crate) fn changed_letter(dice: &mut Dice, letter: &[u8]) -> Vec<u8> {
    let Ok((mut envelope, _)) = parse(letter) else { return letter.to_vec() };
    if dice.percent(25) {
        envelope.from = NodeId(dice.below(6) as u32);
        return seal(&envelope, &Raw(payload(letter)));
    }
    let changed = mutate::letter(dice, envelope.kind, payload(letter));
    seal(&envelope, &Raw(&changed))
}

/// What an answer is, in a few words.
fn said(answer: &Answer) -> String {
    let Ok((envelope, reader)) = parse(&answer.reply) else { return "nothing".to_owned() };
    match envelope.part {
        Part::Refusal => match decode::<steffle::protocol::Refused>(reader) {
            Ok(refused) => format!("{:?}: {refused}", envelope.kind),
            Err(_) => "a damaged refusal".to_owned(),
        },
        _ => format!("{:?}: {} bytes", envelope.kind, answer.reply.len()),
    }
}
