//! Where the time of a round goes: computing, carrying messages between processes, and the ledger.

use std::io::{stdin, stdout};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use steffle::federation::{Agreement, Federation, RunKind};
use steffle::model::ModelKind;
use steffle::node::{Encoded, InProcess, Node};
use steffle::noise::NoiseKind;
use steffle::protocol::{
    Answer, Batch, CellQuestion, Form, Lost, NodeId, Opening, Question, RunId, SchemaHash, Share,
    Terms, Transport,
};
use steffle_ledger::{Charter, StoreId, create, open};
use steffle_privacy::ledger::{Claim, Policy};
use steffle_process::{Desk, Keeps, Patience, Processes, frame, serve};

use crate::Outcome;
use crate::clock::Clock;
use crate::problem::OBJECTIVE;
use crate::synthetic::{LAYOUT, silo};

/// Arguments of `rounds`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Records of every silo.
    #[arg(long, default_value_t = 11_305)]
    records: usize,
    /// Rounds of every measurement.
    #[arg(long, default_value_t = 25)]
    rounds: u32,
    /// Numbers of silos.
    #[arg(long, value_delimiter = ',', default_values_t = [3, 10])]
    silos: Vec<usize>,
    /// Models: 103 and 10,072 parameters.
    #[arg(long, value_delimiter = ';', default_values_t = ["logistic".to_owned(), "mlp:96".to_owned()])]
    models: Vec<String>,
    /// The folder of ledgers and records.
    #[arg(long, default_value = "rounds-scratch")]
    folder: PathBuf,
}

/// A site in a process of its own.
#[derive(clap::Args)]
pub(crate) struct Site {
    #[arg(long)]
    place: u64,
    #[arg(long)]
    records: usize,
    #[arg(long)]
    folder: PathBuf,
    /// Whether its ledger is on disk.
    #[arg(long)]
    ledger: bool,
    /// Instead of all that: answer everything with so many bytes.
    #[arg(long)]
    echo: Option<usize>,
}

/// Prints the table.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let Arguments { records, rounds, silos, models, folder } = arguments;
    println!("{records} records per silo, {rounds} rounds of mode exact; milliseconds per round");
    println!(
        "{:>6} {:>10} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>10} {:>10}",
        "silos",
        "parameters",
        "compute",
        "carrying",
        "ledger",
        "whole",
        "echo",
        "carry/echo",
        "bytes out",
        "bytes back"
    );
    for model in models {
        for &silos in silos {
            let model: ModelKind = model.parse()?;
            let setting = Setting { model, silos, records: *records, rounds: *rounds, folder };
            setting.line()?;
        }
    }
    let _ = std::fs::remove_dir_all(folder);
    Ok(())
}

struct Setting<'a> {
    model: ModelKind,
    silos: usize,
    records: usize,
    rounds: u32,
    folder: &'a Path,
}

/// Seconds of a round, and bytes of its messages.
struct Measured {
    seconds: f64,
    out: f64,
    back: f64,
}

impl Setting<'_> {
    fn line(&self) -> Outcome {
        let embedded: Vec<Node> =
            (0..self.silos as u64).map(|at| node(at, self.records)).collect::<Result<_, _>>()?;
        let here = self.measure(InProcess::new(embedded))?;
        let apart = self.measure(self.start("plain", &[])?)?;
        let paid = self.measure(self.start("paid", &["--ledger"])?)?;
        let silos = self.silos as f64;
        let bytes = (apart.back / silos) as usize;
        let mut echo = self.start("echo", &["--echo", &bytes.to_string()])?;
        let request = vec![0; (apart.out / silos) as usize];
        let clock = Clock::start();
        for _ in 0..self.rounds {
            let all: Vec<(NodeId, &[u8])> =
                (0..self.silos).map(|at| (NodeId::at(at), &request[..])).collect();
            if let Some(lost) = echo.exchange(&all).into_iter().find_map(Result::err) {
                return Err(lost.to_string().into());
            }
        }
        let echo = clock.wall() / f64::from(self.rounds);
        let carrying = apart.seconds - here.seconds;
        let parameters = self.model.build(LAYOUT, 2)?.parameters();
        println!(
            "{:>6} {parameters:>10} {:>9.2} {:>9.2} {:>9.2} {:>9.2} {:>9.2} {:>9.2} {:>10.0} {:>10.0}",
            self.silos,
            here.seconds * 1e3,
            carrying * 1e3,
            (paid.seconds - apart.seconds) * 1e3,
            paid.seconds * 1e3,
            echo * 1e3,
            carrying / echo,
            apart.out,
            apart.back
        );
        Ok(())
    }

    /// One process per silo.
    fn start(&self, name: &str, more: &[&str]) -> Result<Processes, Box<dyn std::error::Error>> {
        let program = std::env::current_exe()?;
        let folder = self.folder.join(format!("{name}-{}-{}", self.silos, self.model));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder)?;
        let command = |place: usize| {
            let mut command = Command::new(&program);
            command.arg("round-site").args(["--place", &place.to_string()]);
            command.args(["--records", &self.records.to_string()]);
            command.arg("--folder").arg(&folder).args(more);
            command
        };
        Ok(Processes::start((0..self.silos).map(command), Patience::default())?)
    }

    /// Runs the rounds over a transport.
    fn measure(&self, transport: impl Transport) -> Result<Measured, Box<dyn std::error::Error>> {
        let counted = Counted { transport, out: 0, back: 0 };
        let agreement = Agreement {
            run: RunId([0; 16]),
            schema: SchemaHash([0; 32]),
            columns: Vec::new(),
            layout: LAYOUT,
            model: self.model.clone(),
            scores: OBJECTIVE.into(),
            seed: 0,
            noise: NoiseKind::Simulation,
            kind: RunKind::default(),
        };
        let mut federation = Federation::join(counted, agreement)?;
        let offer = federation.offer(Claim::Gaussian, 1.0, 1e-6, self.rounds + 1)?;
        let share = Share { round: 0.0005, table: 0.15 };
        let terms = Terms::Exact(share);
        federation.open(offer, |offer| Opening {
            terms,
            cap: Some(0.5),
            ..Opening::plain(offer)
        })?;
        let parameters = federation.model().parameters();
        let question = |round: u32| Question {
            theta: vec![0.001 * f64::from(round); parameters],
            cells: vec![CellQuestion {
                combinations: vec![0.5, 0.25, -0.5, 1.0],
                quadratic: vec![0.1; 2],
            }],
            form: Form::Centred,
            batch: Batch::All,
            loss: true,
        };
        // Round 0 measures rows; the others are alike.
        federation.round(0, &question(0))?;
        let before = (federation.transport().out, federation.transport().back);
        let clock = Clock::start();
        for round in 1..=self.rounds {
            federation.round(round, &question(round))?;
        }
        let seconds = clock.wall() / f64::from(self.rounds);
        let Counted { out, back, .. } = federation.transport();
        let each = |now: usize, before: usize| (now - before) as f64 / f64::from(self.rounds);
        Ok(Measured { seconds, out: each(*out, before.0), back: each(*back, before.1) })
    }
}

/// A transport whose bytes are counted.
struct Counted<T> {
    transport: T,
    out: usize,
    back: usize,
}

impl<T: Transport> Transport for Counted<T> {
    fn nodes(&self) -> usize {
        self.transport.nodes()
    }

    fn exchange(&mut self, requests: &[(NodeId, &[u8])]) -> Vec<Result<Vec<u8>, Lost>> {
        let replies = self.transport.exchange(requests);
        self.out += requests.iter().map(|(_, request)| request.len()).sum::<usize>();
        self.back += replies.iter().flatten().map(Vec::len).sum::<usize>();
        replies
    }
}

fn node(place: u64, records: usize) -> Result<Node, Box<dyn std::error::Error>> {
    let (records, attributes) = silo(place, place * records as u64, records)?;
    Ok(Node::new(Encoded::new(Some(records), Some(attributes))))
}

/// Answers frames until nobody asks any more.
pub(crate) fn run_site(site: &Site) -> Outcome {
    let (mut from, mut to) = (stdin().lock(), stdout().lock());
    if let Some(bytes) = site.echo {
        let answer = Answer { reply: vec![0; bytes], letters: Vec::new() };
        return Ok(serve(|_| answer.clone(), &mut from, &mut to, frame::MOST)?);
    }
    let folder = site.folder.join(site.place.to_string());
    std::fs::create_dir_all(&folder)?;
    let mut node = node(site.place, site.records)?;
    if site.ledger {
        let policy = Policy {
            epsilon: 2.0,
            delta: 1e-5,
            pure_share: 0.0,
            sampled_share: 0.0,
            methods: Vec::new(),
            modes: Vec::new(),
            notions: Vec::new(),
            simulations: true,
            open_runs: 3,
        };
        let store = StoreId::random().ok_or("no random numbers")?;
        let path = folder.join("store.ledger");
        create(&path, Charter::new(store, policy, None), || 0)?;
        node = node.keeping(Box::new(open(&path, || 0)?));
    }
    let keeps = Keeps { folder, holding: [0; 32], wait: Duration::from_secs(5) };
    let mut desk = Desk::new(node).keeping(keeps);
    Ok(serve(|message| desk.handle(message), &mut from, &mut to, frame::MOST)?)
}
