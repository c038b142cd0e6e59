//! The flags.

use std::{net::SocketAddr, path::PathBuf};

use clap::Parser;

/// Turns Assay's custom resources into configuration, keys and workloads
#[derive(Clone, Debug, Parser)]
#[command(version)]
pub struct Settings {
    /// A file with the URL of the PostgreSQL database
    #[arg(long, env = "ASSAY_DATABASE_URL_FILE", value_name = "FILE")]
    pub database_url_file: PathBuf,
    /// Where health and metrics listen
    #[arg(
        long,
        env = "ASSAY_OPERATOR_LISTEN",
        default_value = "0.0.0.0:8081",
        value_name = "ADDRESS:PORT"
    )]
    pub listen: SocketAddr,
    /// The namespace of the Lease that says which operator works
    #[arg(long, env = "POD_NAMESPACE", default_value = "assay-system", value_name = "NAME")]
    pub namespace: String,
    /// What this operator is called in the Lease
    #[arg(long, env = "POD_NAME", value_name = "NAME")]
    pub name: String,
    /// How long the Lease holds without being renewed, in seconds
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(3..=600), value_name = "SECONDS")]
    pub lease_seconds: u32,
    /// Log lines as text instead of JSON
    #[arg(long)]
    pub log_text: bool,
}
