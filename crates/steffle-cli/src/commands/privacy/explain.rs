//! `steffle privacy explain`: an epsilon, or a run, in words and pictures.

use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};
use steffle_front::{Goal, Model, Privacy};
use steffle_privacy::explain::{Explanation, HOW_LONG, Scope};
use steffle_privacy::{Delta, Epsilon};

use super::{quantity, up};
use crate::args::ExplainArgs;
use crate::failure::Failure;
use crate::staged::Staged;
use crate::ui::{Output, wrap};

/// What to explain, and what a run says about it.
struct Question {
    promise: Option<Explanation>,
    scope: Scope,
    run: Option<Value>,
    foreword: String,
}

pub(super) fn explain(args: &ExplainArgs, output: Output) -> Result<(), Failure> {
    let question = match (&args.run, args.epsilon, args.delta) {
        (Some(run), ..) => from_run(run)?,
        (None, Some(epsilon), Some(delta)) => Question {
            promise: Some(Explanation::of(
                quantity("epsilon", epsilon)?,
                quantity("delta", delta)?,
            )),
            scope: Scope::ATTRIBUTE,
            run: None,
            foreword: String::new(),
        },
        _ => {
            let message = "there is nothing to explain: give RUN, or --epsilon and --delta";
            return Err(Failure::usage("usage::missing", message));
        }
    };
    let Some(explanation) = question.promise else {
        let message = "there is no epsilon, so there is no curve to draw";
        if args.svg.is_some() {
            return Err(Failure::usage("config::conflict", message).help("leave out --svg"));
        }
        let value = json!({"run": args.run, "privacy": question.run});
        return output.result(&value, &question.foreword);
    };
    let scope = question.scope;
    if let Some(path) = &args.svg {
        write(path, &explanation.svg())?;
    }
    let mut value = json!({
        "protected": scope.protected,
        "from_whom": scope.from_whom,
        "how_long": HOW_LONG,
        "not_protected": scope.not_protected,
        "explanation": explanation.text(&scope),
    });
    let numbers = serde_json::to_value(&explanation).map_err(|e| Failure::bug(e.to_string()))?;
    if let (Value::Object(value), Value::Object(numbers)) = (&mut value, numbers) {
        value.extend(numbers);
    }
    if let Some(privacy) = question.run {
        value["run"] = json!(args.run);
        value["privacy"] = privacy;
    }
    if let Some(path) = &args.svg {
        value["svg"] = json!(path);
    }
    let paragraphs: String = explanation.text(&scope).lines().map(paragraph).collect();
    let mut text = format!("{}{paragraphs}\n", question.foreword);
    text += &format!(
        "{}\n\n{}\n",
        output.strong("Errors an attacker must accept"),
        explanation.picture()
    );
    output.result(&value, &text)
}

/// What a run directory says about its privacy, and which epsilon to explain.
fn from_run(directory: &Path) -> Result<Question, Failure> {
    let model = Model::load(directory)?;
    let Privacy { epsilon: asked, honest_epsilon, delta, holds, statement, .. } = model.privacy();
    let (asked, delta, holds) = (*asked, *delta, *holds);
    // A claim that does not hold is not explained as if it did.
    let epsilon = if holds { asked } else { *honest_epsilon };
    let promise = match (epsilon.map(Epsilon::try_from), delta) {
        (Some(Ok(epsilon)), Some(0.0)) => Some(Explanation::pure(epsilon)),
        (Some(Ok(epsilon)), Some(delta)) => {
            Delta::try_from(delta).ok().map(|delta| Explanation::of(epsilon, delta))
        }
        _ => None,
    };
    let mut foreword = wrap(&format!("{}: {}", directory.display(), statement));
    foreword.push('\n');
    foreword += &match (&promise, holds) {
        (None, _) if asked.is_none() => wrap(match model.method().goal {
            Goal::Silos | Goal::Nothing => {
                "There is no epsilon to explain: training never reads the sensitive attribute, and \
                 nothing bounds what the messages of this run tell about features and labels."
            }
            _ => {
                "There is no epsilon to explain: nothing bounds what the messages of this run tell \
                 about the sensitive attribute."
            }
        }),
        (None, _) => wrap("No finite epsilon can be proven for this run, so none is explained."),
        (Some(Explanation { epsilon, .. }), false) => wrap(&format!(
            "Explained below is epsilon {}, which an honest accountant gives, not the epsilon {} \
             that was asked for. Noise from a seed hides nothing from those who know the seed: the \
             numbers are those of the same run with secret noise.",
            up(epsilon.value()),
            asked.unwrap_or_default()
        )),
        (Some(_), true) => String::new(),
    };
    foreword.push('\n');
    let run = serde_json::to_value(model.privacy()).map_err(|e| Failure::bug(e.to_string()))?;
    Ok(Question { promise, scope: model.method().protects.scope, run: Some(run), foreword })
}

/// Items keep their mark and their indentation; everything else is wrapped.
fn paragraph(line: &str) -> String {
    match line.strip_prefix("  ") {
        Some(item) => wrap(item).lines().enumerate().fold(String::new(), |text, (i, line)| {
            text + if i == 0 { "  " } else { "    " } + line + "\n"
        }),
        None if line.is_empty() => "\n".to_owned(),
        None => wrap(line),
    }
}

fn write(path: &Path, svg: &str) -> Result<(), Failure> {
    let (staged, mut file) = Staged::file(path)?;
    file.write_all(svg.as_bytes()).map_err(|error| Failure::at(path, &error))?;
    staged.commit()
}
