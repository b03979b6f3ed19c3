//! `steffle data list|describe|partition|pseudonymise`.

use std::path::{Path, PathBuf};

use clap::ArgMatches;
use serde_json::json;
use steffle_data::{
    BUILTIN, Builtin, Columns, Cut, Description, Dialect, Format, Parts, PseudonymKey, Source,
    describe, pseudonymise,
};
use steffle_front::{NotionName, Split, Table};

use crate::args::{DataCommand, DescribeArgs, PartitionArgs, PseudonymiseArgs};
use crate::config::{Check, Origins, dialect, heterogeneity, recipe};
use crate::failure::Failure;
use crate::staged::Staged;
use crate::ui::{Output, Progress, Rows, all_flags, left_out, percent, wrap};

pub(crate) fn data(
    command: DataCommand,
    typed: &ArgMatches,
    output: Output,
) -> Result<(), Failure> {
    match command {
        DataCommand::List => list(output),
        DataCommand::Describe(args) => show(&args, output),
        DataCommand::Partition(args) => cut(&args, &Origins::new(typed, None), output),
        DataCommand::Pseudonymise(args) => hide_ids(&args, output),
    }
}

fn hide_ids(args: &PseudonymiseArgs, output: Output) -> Result<(), Failure> {
    let PseudonymiseArgs { file, key, column, output: to } = args;
    let key = PseudonymKey::read(key)?;
    let rows = pseudonymise(file, to, column, &key)?;
    let text = format!("{rows} ids of `{column}` are pseudonyms in {}\n", to.display());
    output.result(&json!({"path": to, "column": column, "rows": rows}), &text)
}

fn list(output: Output) -> Result<(), Failure> {
    let entry = |set: &Builtin| {
        json!({
            "name": set.name,
            "about": set.about,
            "source": set.source,
            "shipped": set.is_shipped(),
            "sha256": set.sha256,
        })
    };
    let sets: Vec<_> = BUILTIN.iter().map(entry).collect();
    let mut text = String::new();
    for set in BUILTIN {
        text += &format!("{}\n{}{}\n", output.strong(set.name), wrap(set.about), wrap(set.source));
    }
    output.result(&json!({"data_sets": sets}), &text)
}

fn show(args: &DescribeArgs, output: Output) -> Result<(), Failure> {
    let origins = Origins::default();
    let source = Source::parse(&args.data, args.meaning.path.as_deref())?;
    let said_nothing = args.meaning.label.is_none() && args.meaning.sensitive.is_empty();
    let meaning = if source.recipe().is_none() && said_nothing {
        None
    } else {
        let notion = NotionName::None;
        let known = source.recipe_for(&args.meaning.sensitive);
        Some(recipe(known, &args.meaning, None, &notion, Check(&origins))?)
    };
    let table = match &meaning {
        Some(recipe) => source.read(recipe)?,
        None => steffle_data::read_as(
            Path::new(&args.data),
            &Columns::All { text: args.meaning.categorical.clone() },
            &dialect(Dialect::default(), &args.meaning.text, Check(&origins))?,
        )?,
    };
    let mut description = describe(&args.data, table, meaning.as_ref())?;
    description.reading = all_flags(&description.reading);
    description.questions = all_flags(&description.questions);
    if let Some(meaning) = &mut description.meaning {
        meaning.left_out = all_flags(&meaning.left_out);
        meaning.pooled = all_flags(&meaning.pooled);
    }
    output.result(&description, &description_text(&description, output))
}

fn description_text(description: &Description, output: Output) -> String {
    let Description { name, rows, reading, columns, questions, meaning } = description;
    let mut text = format!("{}: {rows} rows, {} columns\n", output.strong(name), columns.len());
    for sentence in reading {
        text += &wrap(sentence);
    }
    text += "\n";
    let mut table = Rows::new(&["column", "kind", "missing", "levels", "range"]);
    for column in columns {
        let range = match (&column.days, column.range) {
            (Some([first, last]), _) => format!("{first} to {last}"),
            (None, Some([low, high])) => format!("{low} to {high}"),
            (None, None) => String::new(),
        };
        let levels = column.levels.map_or_else(String::new, |levels| levels.to_string());
        let cells = [column.kind.to_owned(), column.missing.to_string(), levels, range];
        table.push([column.name.clone()].into_iter().chain(cells).collect());
    }
    text += &table.render();
    let Some(meaning) = meaning else {
        text += &questions_text(questions, output);
        return text + "\nWith --label and --sensitive, labels and groups are described too.\n";
    };
    text += &format!(
        "\n{} usable rows, {} features\n{}\n",
        meaning.usable_rows,
        meaning.features,
        left_out(meaning.dropped, &meaning.dropped_for),
    );
    let decided: String =
        meaning.left_out.iter().chain(&meaning.pooled).map(|sentence| wrap(sentence)).collect();
    if !decided.is_empty() {
        text += &format!("{decided}\n");
    }
    let mut table = Rows::new(&[&format!("label ({})", meaning.label), "rows", "share"]);
    for label in &meaning.labels {
        let wanted = if label.name == meaning.favourable { " (favourable)" } else { "" };
        let name = format!("{}{wanted}", label.name);
        table.push(vec![name, label.rows.to_string(), percent(Some(label.share))]);
    }
    text += &format!("{}\n", table.render());
    let group = format!("group ({})", meaning.sensitive.join(" x "));
    let favourable = format!("has {}", meaning.favourable);
    let mut table = Rows::new(&[&group, "rows", "share", &favourable]);
    for group in &meaning.groups {
        table.push(vec![
            group.name.clone(),
            group.rows.to_string(),
            percent(Some(group.share)),
            percent(Some(group.favourable_rate)),
        ]);
    }
    text += &table.render();
    text + &questions_text(questions, output)
}

/// What should be decided or looked at before training.
fn questions_text(questions: &[String], output: Output) -> String {
    if questions.is_empty() {
        return String::new();
    }
    let each = questions.iter().map(|question| wrap(&format!("- {question}")));
    format!("\n{}\n{}", output.strong("Before you train"), each.collect::<String>())
}

fn cut(args: &PartitionArgs, origins: &Origins, output: Output) -> Result<(), Failure> {
    let check = Check(origins);
    let silos = check.count("silos", args.cut.silos)?.unwrap_or(3);
    let holders = check.count("holders", args.holders)?;
    let heterogeneity = heterogeneity(check, args.cut.heterogeneity)?;
    let seed = check.seed(args.cut.seed)?;
    let cut = match (holders, args.split) {
        (Some(attributes), _) => Cut::Crossed { records: silos, attributes },
        (None, true) => Cut::Divided { silos },
        (None, false) => Cut::Whole { silos },
    };
    let format = if args.format == "parquet" { Format::Parquet } else { Format::Csv };
    if args.out.exists() {
        let message = format!("{}: exists already", args.out.display());
        return Err(Failure::data("data::occupied", message).help("choose another --out"));
    }
    let progress = Progress::start("Cutting data");
    let table = Table::find(&args.data, args.meaning.path.as_deref())?;
    let (meaning, by) = (&args.meaning, args.cut.partition_by.as_ref());
    let known = table.recipe(&meaning.sensitive);
    let recipe = recipe(known, meaning, by, &NotionName::None, check)?;
    let data = table.with(recipe)?;
    let parted = data.split(Split { seed, ..Split::default() })?;
    let (train, test) = parted.sizes();
    let parts = Parts { cut, heterogeneity, format };
    let staged = Staged::directory(&args.out, false)?;
    let job = parted.write(staged.path(), &parts)?;
    staged.commit()?;
    drop(progress);
    let path = args.out.join("job.toml");
    let placed = |file: &PathBuf| args.out.join(file.file_name().unwrap_or_default());
    let all = |files: &[PathBuf]| files.iter().map(placed).collect::<Vec<_>>();
    let value = json!({
        "job": path,
        "silos": all(&job.silos),
        "records": all(&job.records),
        "attributes": all(&job.attributes),
        "test": placed(&job.test),
        "left_out": data.left_out(),
        "rows": {"train": train, "test": test, "dropped": data.dropped()},
        "seed": seed,
        "heterogeneity": heterogeneity,
    });
    let files = job.silos.len() + job.records.len() + job.attributes.len() + 1;
    let left_out: String = data.left_out().iter().map(|sentence| wrap(sentence)).collect();
    let text = format!(
        "{left_out}{train} training and {test} test rows in {files} files in {}\nTrain on them with: steffle train \
         --data {}\n",
        args.out.display(),
        path.display()
    );
    output.result(&value, &text)
}
