//! A graph of operations, as an ONNX file has it.

use super::proto::Message;

/// Versions of the operators, of the file, and their domains: old enough for every runtime in use.
const OPERATORS: u64 = 13;
const LEARNING: u64 = 2;
const FORMAT: u64 = 8;
/// The domain of operators for tables.
pub(super) const ML: &str = "ai.onnx.ml";

/// What a tensor holds; the numbers are the format's.
#[derive(Clone, Copy)]
pub(super) enum Holds {
    Float = 1,
    Whole = 7,
    Text = 8,
    Double = 11,
}

/// A value in the graph, by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Value(pub(super) String);

/// A graph under construction.
pub(super) struct Graph {
    prefix: String,
    nodes: Vec<Message>,
    constants: Vec<Message>,
    inputs: Vec<Message>,
    outputs: Vec<Message>,
    made: usize,
}

impl Graph {
    /// An empty one, whose own values do not begin as any of the given names do.
    pub(super) fn new<'n>(taken: &(impl Iterator<Item = &'n str> + Clone)) -> Self {
        let mut prefix = "steffle".to_owned();
        while taken.clone().any(|name| name.starts_with(&prefix)) {
            prefix.push('_');
        }
        let (nodes, constants, inputs, outputs) = <_>::default();
        Self { prefix, nodes, constants, inputs, outputs, made: 0 }
    }

    /// A column: one cell per row.
    pub(super) fn column(&mut self, name: &str, holds: Holds) -> Value {
        self.inputs.push(described(name, holds, Some(1)));
        Value(name.to_owned())
    }

    /// What comes out under a name; `width` numbers per row, or one value.
    pub(super) fn output(&mut self, name: &str, from: &Value, holds: Holds, width: Option<usize>) {
        let node = node("", "Identity", &[from], name, &[]);
        self.nodes.push(node);
        self.outputs.push(described(name, holds, width));
    }

    /// The outcome of an operation.
    pub(super) fn op(&mut self, kind: &str, inputs: &[&Value], attributes: &[Message]) -> Value {
        self.op_in("", kind, inputs, attributes)
    }

    /// The outcome of an operation of another domain.
    pub(super) fn op_in(
        &mut self,
        domain: &str,
        kind: &str,
        inputs: &[&Value],
        attributes: &[Message],
    ) -> Value {
        let name = self.name();
        self.nodes.push(node(domain, kind, inputs, &name, attributes));
        Value(name)
    }

    /// Numbers that are part of the model.
    pub(super) fn doubles(&mut self, shape: &[usize], values: &[f64]) -> Value {
        let raw: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.constant(shape, Holds::Double, &raw)
    }

    /// Whole numbers that are part of the model.
    pub(super) fn wholes(&mut self, shape: &[usize], values: &[u64]) -> Value {
        let raw: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.constant(shape, Holds::Whole, &raw)
    }

    fn constant(&mut self, shape: &[usize], holds: Holds, raw: &[u8]) -> Value {
        let name = self.name();
        let tensor = Message::default()
            .each(shape, |tensor, &length| tensor.number(1, length as u64))
            .number(2, holds as u64)
            .text(8, &name)
            .bytes(9, raw);
        self.constants.push(tensor);
        Value(name)
    }

    fn name(&mut self) -> String {
        self.made += 1;
        format!("{}:{}", self.prefix, self.made)
    }

    /// The file, with what else is known about the model.
    pub(super) fn file<'f>(
        &self,
        facts: impl Iterator<Item = (&'f String, &'f String)>,
    ) -> Vec<u8> {
        let graph = Message::default()
            .each(&self.nodes, |graph, node| graph.message(1, node))
            .text(2, "steffle")
            .each(&self.constants, |graph, tensor| graph.message(5, tensor))
            .each(&self.inputs, |graph, input| graph.message(11, input))
            .each(&self.outputs, |graph, output| graph.message(12, output));
        let operators =
            |domain: &str, version: u64| Message::default().text(1, domain).number(2, version);
        Message::default()
            .number(1, FORMAT)
            .text(2, "steffle")
            .text(3, env!("CARGO_PKG_VERSION"))
            .message(7, &graph)
            .message(8, &operators("", OPERATORS))
            .message(8, &operators(ML, LEARNING))
            .each(facts, |model, (name, text)| {
                model.message(14, &Message::default().text(1, name).text(2, text))
            })
            .finish()
    }
}

/// An attribute that is a whole number.
pub(super) fn whole(name: &str, value: u64) -> Message {
    Message::default().text(1, name).number(3, value).number(20, 2)
}

/// An attribute that is a list of whole numbers.
pub(super) fn wholes(name: &str, values: impl IntoIterator<Item = u64>) -> Message {
    let list = Message::default().text(1, name);
    list.each(values, |list, value| list.number(8, value)).number(20, 7)
}

/// An attribute that is a list of texts.
pub(super) fn texts<'t>(name: &str, values: impl IntoIterator<Item = &'t str>) -> Message {
    let list = Message::default().text(1, name);
    list.each(values, |list, value| list.text(9, value)).number(20, 8)
}

fn node(
    domain: &str,
    kind: &str,
    inputs: &[&Value],
    output: &str,
    attributes: &[Message],
) -> Message {
    Message::default()
        .each(inputs, |node, input| node.text(1, &input.0))
        .text(2, output)
        .text(4, kind)
        .each(attributes, |node, attribute| node.message(5, attribute))
        .text(7, domain)
}

/// The name, kind and shape of an input or output: any number of rows.
fn described(name: &str, holds: Holds, width: Option<usize>) -> Message {
    let rows = Message::default().text(2, "rows");
    let shape = Message::default()
        .message(1, &rows)
        .each(width, |shape, width| shape.message(1, &Message::default().number(1, width as u64)));
    let tensor = Message::default().number(1, holds as u64).message(2, &shape);
    Message::default().text(1, name).message(2, &Message::default().message(1, &tensor))
}
