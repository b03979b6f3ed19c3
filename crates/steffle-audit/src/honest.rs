//! The server that trains, overheard.

use std::ops::ControlFlow;
use std::sync::Arc;

use steffle_server::server::{Output, Rates};
use steffle_server::train::{Length, Mode, Settings, Start, StepRule, train};
use steffle_wire::{Kind, Part, Question, Round, decode, parse};

use crate::interactive::{Interactive, ROUNDS, messages};
use crate::population::Population;
use crate::tap::Heard;
use crate::{AuditError, Compared, Noise, Seen, World};

impl Interactive {
    /// A training run, and what its questions would have been answered without noise. What it asks
    /// depends on what was answered, so the attacker asks its own copies in both worlds afterwards.
    pub(crate) fn honest_run(&self, world: World, noise: Noise) -> Result<Seen, AuditError> {
        let settings = Settings {
            lambda: 1.0,
            mode: Mode::Exact(self.exact()),
            length: Length::Rounds(ROUNDS),
            batch: None,
            server: StepRule::Plain,
            rates: Rates { theta: 0.5, dual: 0.5, decay: 1.0 },
            output: Output::Last,
        };
        let plan = settings.check(&[self.population.count()])?;
        let mut federation = self.population.silo(world, noise)?;
        let start = Start::from(Population::start());
        let objective = self.population.objective;
        train(&plan, objective, &mut federation, start, |_| ControlFlow::Continue(()))?;
        let heard = federation.into_transport().heard;
        let questions = questions(&heard)?;
        let (zero, one) = (
            self.without_noise(World::Zero, &questions)?,
            self.without_noise(World::One, &questions)?,
        );
        let said = messages(&heard)?.into_iter();
        let together = |(((what, said), (_, zero)), (_, one))| Compared {
            what,
            said,
            expected: Arc::new([zero, one]),
        };
        Ok(Seen::Numbers(said.zip(zero).zip(one).map(together).collect()))
    }
}

/// What was asked in every round, from the bytes of the requests.
pub(crate) fn questions(heard: &[Heard]) -> Result<Vec<Question>, AuditError> {
    let mut questions = Vec::new();
    for Heard { request, .. } in heard {
        let (envelope, reader) = parse(request)?;
        if envelope.kind == Kind::Round && envelope.part == Part::Request {
            let Round { question, .. } = decode(reader)?;
            questions.push(question.into_owned());
        }
    }
    Ok(questions)
}
