//! How a node comes into a run and leaves it: divisions of what it holds, a list of units, a ledger.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use steffle_attributes::AttributesDivision;
use steffle_model::fairness::Notion;
use steffle_model::model::ModelKind;
use steffle_privacy::ledger::{Ended, Ledger};
use steffle_wire::{Answer, Done, Envelope, Join, Kind, NodeId, Refused, Scores, Units};

use super::BuildScores;
use super::holding::Taken;
use super::letters::Letters;
use super::once::Once;
use super::party::{Divisions, Party, Rooms, nothing};
use crate::division::Silo;
use crate::division::records::RecordsDivision;

impl Party {
    /// Joins: makes divisions of what is held. Refuses what does not fit together.
    pub(super) fn join(
        envelope: &Envelope,
        join: Join,
        held: Taken,
        scores: BuildScores,
        ledger: &mut Option<Box<dyn Ledger>>,
    ) -> Result<(Self, Answer), Refused> {
        let &Envelope { to: me, run, schema, .. } = envelope;
        if me == NodeId::ALL {
            return Err(Refused::state("a node joins by its own number"));
        }
        let unknown = || {
            let text = format!("no scores {:?}", join.scores.name);
            Refused::new("steffle::node::scores", text)
        };
        fits(&join.scores, &held)?;
        let objective = scores(&join.scores).ok_or_else(unknown)?;
        let division = |records: steffle_model::record::Records| -> Result<_, Refused> {
            let kind: ModelKind = join.model.parse()?;
            let model = kind.build(records.rows().layout(), join.scores.labels)?;
            let (model, node) = (Arc::from(model), u64::from(me.0));
            let mut own = RecordsDivision::new(records, objective.clone(), model, join.seed, node)?;
            if join.silos > 1 {
                own.join_others();
            }
            Ok(own)
        };
        let (records, attributes) = (held.records.map(division).transpose()?, held.attributes);
        let mut units = None;
        let divisions = match (records, attributes) {
            (Some(records), Some(attributes)) => {
                let mut silo = Silo::new(records, attributes)?;
                if let Some(ledger) = ledger.take() {
                    silo.attributes().set_ledger(ledger)?;
                }
                Divisions::Both(Box::new(silo))
            }
            (Some(records), None) => {
                let own = records.records();
                units = Some(Units { ids: own.ids().to_vec(), units: own.units().map(Into::into) });
                Divisions::Records(Box::new(records))
            }
            (None, Some(attributes)) => match held.people {
                Some(people) => Divisions::Sealed(attributes, people),
                None => return Err(Refused::state("this holder has no list of people")),
            },
            (None, None) => return Err(Refused::state("this node holds nothing")),
        };
        let ledger = match divisions {
            Divisions::Sealed(..) => ledger.take(),
            _ => None,
        };
        let (letters, opening, once) = (Letters::default(), None, Once::default());
        let agreed = None;
        let mut party = Self {
            me,
            run,
            schema,
            join,
            divisions,
            ledger,
            letters,
            opening,
            acts: 0,
            round: None,
            ended: Ended::Refused,
            once,
            without: None,
            agreed,
            pads: None,
            under: None,
            rooms: Rooms::default(),
        };
        let answer = party.answer_with(envelope, &mut Done, units.as_ref());
        Ok((party, answer))
    }

    /// Leaves the run; returns the ledger, in which the grant is closed.
    pub(super) fn leave(self) -> Option<Box<dyn Ledger>> {
        let mut attributes = match self.divisions {
            Divisions::Both(silo) => silo.into_attributes(),
            Divisions::Attributes(division) => *division,
            _ => return self.ledger,
        };
        // What a grant cannot give back stays spent.
        let _ = attributes.close();
        Some(attributes.into_ledger())
    }

    /// Once all silos have said which records they have, and that is what the holder's own list says,
    /// classes can be asked about.
    pub(super) fn list_units(&mut self) -> Result<(), Refused> {
        let Divisions::Sealed(_, people) = &self.divisions else { return Ok(()) };
        let people = people.clone();
        let silos = self.silos();
        let (said, _) = self.letters.take::<Units>(Kind::Join, 0, silos)?;
        once(&said)?;
        for Units { ids, units } in &said {
            let compared = people.compare(ids, units.as_deref());
            compared.map_err(|error| Refused::new(Refused::IDS, error))?;
        }
        let Divisions::Sealed(attributes, people) =
            std::mem::replace(&mut self.divisions, Divisions::Moving)
        else {
            return Err(nothing());
        };
        let mut division = AttributesDivision::by_id(attributes, people);
        if let Some(ledger) = self.ledger.take() {
            division.set_ledger(ledger)?;
        }
        self.divisions = Divisions::Attributes(Box::new(division));
        Ok(())
    }
}

/// Refuses scores that are not about the labels and classes that are held.
fn fits(scores: &Scores, held: &Taken) -> Result<(), Refused> {
    let refuse = |what: &str| Err(Refused::new("steffle::node::scores", what));
    let Scores { notion, classes, labels, .. } = *scores;
    if classes < 2 || labels < 2 {
        return refuse("fewer than two classes or labels");
    }
    if held.attributes.as_ref().is_some_and(|own| own.class_count() != classes) {
        return refuse("another number of classes than this node's attributes have");
    }
    // What was agreed on, and not what is found: a refusal must not tell who has which label.
    let agreed = held.labels.map_or_else(
        || {
            held.records
                .as_ref()
                .and_then(|own| own.labels().iter().max())
                .map_or(0, |&last| last.into())
        },
        |count| count.saturating_sub(1),
    );
    if agreed >= labels {
        return refuse("fewer labels than this node's records may have");
    }
    match notion {
        Notion::EqualizedOdds { labels: cells } if cells != labels => {
            refuse("another number of cells than labels")
        }
        _ => Ok(()),
    }
}

/// Refuses record ids that two silos claim: one record would count twice, and pay once.
fn once(silos: &[Units]) -> Result<(), Refused> {
    let mut first: HashMap<u64, usize> = HashMap::new();
    let mut both: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for (silo, Units { ids, .. }) in silos.iter().enumerate() {
        for id in ids {
            match *first.entry(*id).or_insert(silo) {
                own if own == silo => {}
                other => *both.entry((other, silo)).or_default() += 1,
            }
        }
    }
    let Some((&(one, two), count)) = both.iter().next() else { return Ok(()) };
    let (one, two) = (NodeId::at(one), NodeId::at(two));
    let text = format!("{count} record ids come from both {one} and {two}; an id is one record");
    let numbers = vec![f64::from(one.0), f64::from(two.0)];
    Err(Refused { numbers, ..Refused::new(Refused::IDS, text) })
}
