//! `assay get`, `describe` and `delete`: the stored manifests.

use std::{fmt::Write as _, io::Write, str::FromStr};

use assay_service::manifests::{self, DeleteError, StoredManifest};
use assay_tenancy::{Name, manifest::Kind};
use clap::{Args, ValueEnum};

use super::{CommandOutcome, Context, Failure, output, print_json, terminal::output_width};
use crate::render::table;

const EXAMPLES: &str = "\
Examples:
  assay get                    every manifest
  assay get tenants
  assay get plan business -o yaml > business.yaml";

/// Kind of manifests, in the spellings that `kubectl` takes.
#[derive(Clone, Copy, Debug)]
struct KindArg(Kind);

impl FromStr for KindArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = text.to_ascii_lowercase();
        if matches!(wanted.as_str(), "key" | "keys" | "apikey" | "apikeys") {
            return Err("keys are no manifests: use `assay keys list`".to_owned());
        }
        let is_wanted = |kind: &Kind| {
            let one = kind.as_str().to_ascii_lowercase();
            let several = match one.strip_suffix('y') {
                Some(stem) => format!("{stem}ies"),
                None => format!("{one}s"),
            };
            wanted == one || wanted == several
        };
        Kind::ALL.into_iter().find(is_wanted).map(Self).ok_or_else(|| {
            let kinds: Vec<&str> = Kind::ALL.iter().map(|kind| kind.as_str()).collect();
            format!("no such kind: one of {}", kinds.join(", "))
        })
    }
}

/// Form in which manifests are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OutputForm {
    /// A line each
    Table,
    /// The manifests, as `assay apply` reads them
    Yaml,
    /// An array of manifests
    Json,
    /// Kind and name
    Name,
}

/// Show stored manifests: plans, tenants, sources, rate limits and risk policies
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct GetArgs {
    /// Kind, such as tenant or plans [default: all]
    kind: Option<KindArg>,
    /// Name [default: all of the kind]
    name: Option<Name>,
    /// Form of the output
    #[arg(short, long, value_name = "FORM", default_value = "table")]
    output: OutputForm,
}

/// Show a stored manifest with what refers to it
#[derive(Debug, Args)]
pub(super) struct DescribeArgs {
    /// Kind, such as tenant or plan
    kind: KindArg,
    /// Name
    name: Name,
}

/// Delete a stored manifest that nothing refers to
///
/// A deleted tenant loses access at once. Its answers and usage are kept for as long as its plan says, and it comes back with
/// them if it is applied again before.
#[derive(Debug, Args)]
pub(super) struct DeleteArgs {
    /// Kind, such as tenant or plan
    kind: KindArg,
    /// Name
    name: Name,
}

pub(super) async fn get(args: &GetArgs, context: &Context) -> Result<CommandOutcome, Failure> {
    let store = context.open().await?;
    let mut stored = manifests::stored(&*store).await?;
    if let Some(KindArg(kind)) = args.kind {
        stored.retain(|manifest| manifest.record.kind == kind);
    }
    if let (Some(name), Some(KindArg(kind))) = (&args.name, args.kind) {
        let names: Vec<String> = stored.iter().map(|it| it.record.name.to_string()).collect();
        stored.retain(|manifest| manifest.record.name == *name);
        if stored.is_empty() {
            return Err(unknown(kind, name, &names));
        }
    }
    let mut output = output();
    match args.output {
        OutputForm::Json => {
            drop(output);
            let documents: Vec<_> = stored.iter().map(StoredManifest::document).collect();
            print_json(&documents)?;
        }
        OutputForm::Yaml => {
            for (number, manifest) in stored.iter().enumerate() {
                let separator = if number > 0 { "---\n" } else { "" };
                write!(output, "{separator}{}", yaml(manifest)?)?;
            }
        }
        OutputForm::Name => {
            for StoredManifest { record, .. } in &stored {
                writeln!(output, "{} {}", record.kind.as_str(), record.name)?;
            }
        }
        OutputForm::Table => {
            let header = ["KIND", "NAME", "USED BY", "STATE"].map(str::to_owned);
            let rows = stored.iter().map(|manifest| {
                let StoredManifest { record, problems, used_by } = manifest;
                let state = problems.first().map_or("valid", |_| "invalid: see describe");
                [
                    record.kind.as_str().to_owned(),
                    record.name.to_string(),
                    if used_by.is_empty() { String::new() } else { used_by.len().to_string() },
                    state.to_owned(),
                ]
            });
            let rows: Vec<_> = std::iter::once(header).chain(rows).collect();
            write!(output, "{}", table(&rows, output_width()))?;
        }
    }
    Ok(CommandOutcome::Success)
}

pub(super) async fn describe(
    args: &DescribeArgs,
    context: &Context,
) -> Result<CommandOutcome, Failure> {
    let DescribeArgs { kind: KindArg(kind), name } = args;
    let store = context.open().await?;
    let stored = manifests::stored(&*store).await?;
    let of_kind: Vec<&StoredManifest> =
        stored.iter().filter(|manifest| manifest.record.kind == *kind).collect();
    let names: Vec<String> = of_kind.iter().map(|it| it.record.name.to_string()).collect();
    let found = of_kind.into_iter().find(|manifest| manifest.record.name == *name);
    let manifest = found.ok_or_else(|| unknown(*kind, name, &names))?;
    let mut text = yaml(manifest)?;
    for (title, lines) in [("used by", &manifest.used_by), ("problems", &manifest.problems)] {
        if !lines.is_empty() {
            let _ = write!(text, "\n{title}:\n");
            for line in lines {
                let _ = writeln!(text, "  {line}");
            }
        }
    }
    if *kind == Kind::Tenant {
        let keys = store.keys_of(name).await?;
        let live = keys.iter().filter(|key| key.revoked_at.is_none()).count();
        let _ = write!(text, "\nkeys: {live} not revoked (assay keys list --tenant {name})\n");
    }
    write!(output(), "{text}")?;
    Ok(CommandOutcome::Success)
}

pub(super) async fn delete(
    args: &DeleteArgs,
    context: &Context,
) -> Result<CommandOutcome, Failure> {
    let DeleteArgs { kind: KindArg(kind), name } = args;
    let store = context.open().await?;
    match manifests::delete(&*store, *kind, name, context.clock.now()).await {
        Ok(()) => {
            writeln!(output(), "{} {name} deleted", kind.as_str())?;
            Ok(CommandOutcome::Success)
        }
        Err(DeleteError::Unknown(names)) => Err(unknown(*kind, name, &names)),
        Err(error @ (DeleteError::InUse(_) | DeleteError::Reserved)) => {
            Err(Failure::Refused(format!("{} {name} was not deleted: {error}", kind.as_str())))
        }
        Err(DeleteError::Store(error)) => Err(error.into()),
    }
}

fn yaml(manifest: &StoredManifest) -> Result<String, Failure> {
    let text = serde_saphyr::to_string(&manifest.document());
    text.map_err(|error| Failure::Failed(format!("a manifest cannot be printed: {error}")))
}

fn unknown(kind: Kind, name: &Name, names: &[String]) -> Failure {
    let others = match names {
        [] => "there is none of this kind".to_owned(),
        names => format!("there are {}", names.join(", ")),
    };
    Failure::Input(format!("there is no {} `{name}`: {others}", kind.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_written_as_kubectl_takes_them() {
        for (text, kind) in [
            ("Tenant", Kind::Tenant),
            ("tenants", Kind::Tenant),
            ("riskpolicies", Kind::RiskPolicy),
            ("RiskPolicy", Kind::RiskPolicy),
            ("ratelimits", Kind::RateLimit),
        ] {
            assert_eq!(text.parse::<KindArg>().unwrap().0, kind, "{text}");
        }
        let said = "keys".parse::<KindArg>().unwrap_err();
        assert!(said.contains("assay keys list"), "{said}");
        assert!("plant".parse::<KindArg>().unwrap_err().contains("one of Plan, IntelSource"));
    }
}
