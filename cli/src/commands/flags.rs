//! The flags that several commands have, each group under its own heading, and the commands that do not use them.

use std::path::PathBuf;

use clap::{Args, Command, CommandFactory, FromArgMatches};

use crate::settings::Layers;

/// Headings of the groups in help texts.
const DATABASE: &str = "Database";
const REDIS: &str = "Redis";
const GENERAL: &str = "General";

/// Commands that open no database, each by its path of names.
const WITHOUT_DATABASE: [&[&str]; 5] =
    [&["address"], &["openapi"], &["probe"], &["manual"], &["completions"]];
/// Commands that connect to Redis.
const WITH_REDIS: [&[&str]; 2] = [&["serve"], &["keys", "revoke"]];

#[derive(Debug, Args)]
pub(super) struct CommonFlags {
    /// Directory of the embedded database [default: assay-data; with --sample: assay-sample]
    #[arg(long, global = true, value_name = "DIR", help_heading = DATABASE)]
    data_dir: Option<String>,
    /// URL of a PostgreSQL database to use instead of the embedded one
    ///
    /// Prefer `ASSAY_DATABASE_URL` or --database-url-file: other users of the machine can read flags.
    #[arg(long, global = true, value_name = "URL", help_heading = DATABASE)]
    database_url: Option<String>,
    /// File with the URL of the PostgreSQL database; changes take effect on new connections
    #[arg(long, global = true, value_name = "FILE", help_heading = DATABASE)]
    database_url_file: Option<String>,
    /// File with the password of the PostgreSQL database; changes take effect on new connections
    #[arg(long, global = true, value_name = "FILE", help_heading = DATABASE)]
    database_password_file: Option<String>,
    /// Chain servers, separated by commas, such as btc=http://chain-btc:8080 [default: none; graphs are in the data
    /// directory]
    #[arg(long, global = true, value_name = "CHAIN=URL", help_heading = DATABASE)]
    chain_servers: Option<String>,
    /// File with the token that chain servers ask for
    #[arg(long, global = true, value_name = "FILE", help_heading = DATABASE)]
    chain_token_file: Option<String>,
    /// CA bundle (PEM) for chain servers with https
    #[arg(long, global = true, value_name = "FILE", help_heading = DATABASE)]
    chain_ca_file: Option<String>,
    /// List of revoked keys beside the database [default: revoked-keys.jsonl in the data directory]
    #[arg(long, global = true, value_name = "FILE", help_heading = DATABASE)]
    revocations: Option<String>,
    /// Use the demo data set
    #[arg(long, global = true, help_heading = DATABASE)]
    pub(super) sample: bool,
    /// URL of the Redis that servers share: redis://, redis+sentinel:// or redis+cluster://; rediss for TLS
    #[arg(long, global = true, value_name = "URL", help_heading = REDIS)]
    redis_url: Option<String>,
    /// File with the URL of Redis, read at the start
    #[arg(long, global = true, value_name = "FILE", help_heading = REDIS)]
    redis_url_file: Option<String>,
    /// File with the password of Redis
    #[arg(long, global = true, value_name = "FILE", help_heading = REDIS)]
    redis_password_file: Option<String>,
    /// CA bundle (PEM) for Redis over TLS, used instead of the public CAs
    #[arg(long, global = true, value_name = "FILE", help_heading = REDIS)]
    redis_ca_file: Option<String>,
    /// Prefix of key names in Redis, one for each installation [default: assay]
    #[arg(long, global = true, value_name = "TEXT", help_heading = REDIS)]
    redis_prefix: Option<String>,
    /// File with settings [default: assay.toml, if it exists]
    #[arg(long, global = true, value_name = "FILE", help_heading = GENERAL)]
    pub(super) config: Option<PathBuf>,
    /// Lowest level of log lines: off, error, warn, info or debug [default: info]
    #[arg(long, global = true, value_name = "LEVEL", help_heading = GENERAL)]
    log_level: Option<String>,
    /// Format of log lines: text or json [default: text]
    #[arg(long, global = true, value_name = "FORMAT", help_heading = GENERAL)]
    log_format: Option<String>,
}

impl CommonFlags {
    pub(super) fn flags(&self, layers: &mut Layers) {
        layers.flag("data-dir", self.data_dir.clone());
        layers.flag("database-url", self.database_url.clone());
        layers.flag("database-url-file", self.database_url_file.clone());
        layers.flag("database-password-file", self.database_password_file.clone());
        layers.flag("chain-servers", self.chain_servers.clone());
        layers.flag("chain-token-file", self.chain_token_file.clone());
        layers.flag("chain-ca-file", self.chain_ca_file.clone());
        layers.flag("revocations", self.revocations.clone());
        layers.flag("redis-url", self.redis_url.clone());
        layers.flag("redis-url-file", self.redis_url_file.clone());
        layers.flag("redis-password-file", self.redis_password_file.clone());
        layers.flag("redis-ca-file", self.redis_ca_file.clone());
        layers.flag("redis-prefix", self.redis_prefix.clone());
        layers.flag("log-level", self.log_level.clone());
        layers.flag("log-format", self.log_format.clone());
    }
}

/// Parses the command line. A request for help, or an error, is printed and ends the program.
pub(super) fn parse<C: CommandFactory + FromArgMatches>() -> C {
    let parsed = C::from_arg_matches(&command::<C>().get_matches());
    parsed.unwrap_or_else(|error| error.format(&mut command::<C>()).exit())
}

/// The command line. A command accepts every common flag, so that scripts can set them all in one place,
/// and shows those that it uses.
pub(super) fn command<C: CommandFactory>() -> Command {
    let common = CommonFlags::augment_args(Command::new("common"));
    shown(C::command(), &common, &mut Vec::new())
}

fn shown(mut command: Command, common: &Command, path: &mut Vec<String>) -> Command {
    if !path.is_empty() && !command.has_subcommands() {
        let is_in = |paths: &[&[&str]]| paths.iter().any(|known| *known == path.as_slice());
        let (has_database, has_redis) = (!is_in(&WITHOUT_DATABASE), is_in(&WITH_REDIS));
        for flag in common.get_arguments() {
            let is_hidden = match flag.get_help_heading() {
                Some(DATABASE) => !has_database,
                Some(REDIS) => !has_redis,
                _ => false,
            };
            if is_hidden {
                command = command.arg(flag.clone().hide(true));
            }
        }
        return command;
    }
    let names: Vec<String> =
        command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    for name in names {
        path.push(name.clone());
        command = command.mut_subcommand(name, |sub| shown(sub, common, path));
        path.pop();
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::Cli;

    fn command() -> Command {
        super::command::<Cli>()
    }

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }

    fn help(path: &[&str]) -> String {
        let arguments = ["assay"].iter().chain(path).chain(&["--help"]);
        command().try_get_matches_from(arguments).unwrap_err().to_string()
    }

    #[test]
    fn commands_show_the_common_flags_that_they_use_after_their_own() {
        for (path, database, redis) in [
            (["check"].as_slice(), true, false),
            (&["serve"], true, true),
            (&["keys", "revoke"], true, true),
            (&["keys", "list"], true, false),
            (&["address"], false, false),
            (&["manual"], false, false),
            (&["completions"], false, false),
        ] {
            let help = help(path);
            assert_eq!(help.contains("--data-dir"), database, "{path:?}: {help}");
            assert_eq!(help.contains("--redis-url"), redis, "{path:?}: {help}");
            let own = help.find("Options:").unwrap();
            assert!(own < help.find("General:").unwrap(), "{path:?}: {help}");
            let common = help.find("Database:").or(help.find("General:")).unwrap();
            assert!(help[own..common].contains("--help"), "{path:?}: {help}");
        }
    }

    #[test]
    fn a_hidden_flag_is_accepted_before_and_after_the_command() {
        for arguments in [
            ["assay", "--data-dir", "d", "address", "btc", "x"],
            ["assay", "address", "--data-dir", "d", "btc", "x"],
        ] {
            let matches = command().try_get_matches_from(arguments).unwrap();
            let cli = Cli::from_arg_matches(&matches).unwrap();
            assert_eq!(cli.common.data_dir.as_deref(), Some("d"), "{arguments:?}");
        }
    }
}
