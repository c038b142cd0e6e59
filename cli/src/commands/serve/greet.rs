//! The greeting of a server on standard output.

use std::{io::Write, net::SocketAddr};

use assay_console::Console;
use assay_sample::{self, SampleKey};
use assay_store::ControlStore;

use crate::commands::{Context, Failure, output, terminal::output_row};

/// Prints the listening addresses, sign-in links of the console and, for the demo data set, keys and examples.
pub(super) async fn greet(
    context: &Context,
    store: &dyn ControlStore,
    keys: &[SampleKey],
    api: SocketAddr,
    admin: SocketAddr,
    console: Option<&Console>,
) -> Result<(), Failure> {
    tracing::info!(%api, %admin, "serving");
    let mut output = output();
    let scheme = if context.settings.tls_cert.is_some() { "https" } else { "http" };
    writeln!(output, "Assay serves {scheme}://{api} (health and metrics: http://{admin})")?;
    if !context.sample {
        if store.control().await?.keys.is_empty() {
            writeln!(
                output,
                "There is no API key: apply a Tenant with `assay apply`, then run `assay keys create`."
            )?;
        }
        output.flush()?;
        drop(output);
        show_console(context, console)?;
        return Ok(());
    }
    writeln!(output, "\nThis is the demo data set. API keys of its tenants:")?;
    for key in keys {
        writeln!(output, "  {:<18} {}", key.tenant.as_str(), key.key.expose())?;
    }
    let examples = assay_sample::examples();
    if let (Some(key), Some(example)) = (keys.first(), examples.first()) {
        writeln!(output, "\nTry:\n")?;
        writeln!(
            output,
            "curl -sS {scheme}://{api}/api/v1/check/address -H 'X-API-Key: {}' -H 'Content-Type: \
             application/json' -d '{{\"blockchain\":\"{}\",\"address\":\"{}\"}}'",
            key.key.expose(),
            example.address.chain(),
            example.address
        )?;
    }
    if let Some(console) = console {
        writeln!(output, "\nOr in a browser:\n")?;
        drop(output);
        show_console(context, Some(console))?;
        output = crate::commands::output();
    }
    writeln!(output, "\nOther addresses to try, there or with `assay check --sample`:")?;
    for example in examples {
        let chain = example.address.chain();
        let (address, verdict) = (example.address.as_str(), example.verdict.as_str());
        let text = format!("  {chain:<4} {address:<44} {verdict:<7} {}", example.description);
        write!(output, "{}", output_row(&text))?;
    }
    writeln!(output)?;
    output.flush()?;
    Ok(())
}

/// Prints the URL of the console, if people sign in at an issuer, or its sign-in links.
fn show_console(context: &Context, console: Option<&Console>) -> Result<(), Failure> {
    let Some(console) = console else { return Ok(()) };
    match &context.settings.console_url {
        Some(url) => writeln!(output(), "Console: {url}/console")?,
        None => console.print_links(),
    }
    Ok(())
}
