//! `assay jobs`: background jobs and their state.

use std::io::Write;

use assay_store::jobs::Job;
use clap::Args;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{CommandOutcome, Context, Failure, output, print_json, terminal::output_width};
use crate::render::{ago, table};

/// List background jobs: fetches of sources and histories, and purges
///
/// Servers run the jobs, each job once for all servers. A job that failed is retried after a delay that grows.
#[derive(Debug, Args)]
pub(super) struct JobsArgs {
    /// Restrict to one kind of jobs, such as `fetch_source`
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: &JobsArgs, context: &Context) -> Result<CommandOutcome, Failure> {
    let store = context.open().await?;
    let jobs = store.jobs(args.kind.as_deref()).await?;
    let now = context.clock.now();
    if args.json {
        let rows: Vec<Value> = jobs.iter().map(row).collect();
        return print_json(&rows);
    }
    if jobs.is_empty() {
        writeln!(output(), "no background job yet: `assay serve` enqueues them")?;
        return Ok(CommandOutcome::Success);
    }
    let header = ["KIND", "KEY", "STATUS", "DUE", "SUCCEEDED", "FAILURES", "ERROR"];
    let rows = jobs.iter().map(|job| {
        [
            job.id.kind.clone(),
            job.id.key.clone(),
            job.status.as_str().to_owned(),
            due(job, now),
            job.succeeded_at.map(|at| ago(at, now)).unwrap_or_default(),
            job.failures.to_string(),
            job.last_error.clone().unwrap_or_default(),
        ]
    });
    let rows: Vec<_> = std::iter::once(header.map(str::to_owned)).chain(rows).collect();
    write!(output(), "{}", table(&rows, output_width()))?;
    Ok(CommandOutcome::Success)
}

/// Time at which a job is due; empty if the job has ended.
fn due(job: &Job, now: Timestamp) -> String {
    match job.status.as_str() {
        "pending" if job.due_at <= now => "now".to_owned(),
        "pending" => job.due_at.strftime("%Y-%m-%d %H:%M UTC").to_string(),
        _ => String::new(),
    }
}

fn row(job: &Job) -> Value {
    json!({
        "kind": job.id.kind,
        "key": job.id.key,
        "status": job.status.as_str(),
        "due_at": job.due_at,
        "failures": job.failures,
        "finished_at": job.finished_at,
        "succeeded_at": job.succeeded_at,
        "last_error": job.last_error,
    })
}
