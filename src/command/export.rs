//! `export`: the manifest in the form of other programs.

use std::io::Write as _;

use super::{console, manifest, place};
use crate::cli::{ExportArguments, ExportTarget};
use crate::config::{self, File};
use crate::error::Error;
use crate::exit::ExitStatus;
use crate::export::env::{Choice, env};
use crate::export::schema::schema;
use crate::file::write_named;

/// Runs `export`.
///
/// # Errors
/// Usage errors (a stale manifest among them), and a file that cannot be written.
pub fn run(arguments: &ExportArguments) -> Result<ExitStatus, Error> {
    let text = match &arguments.target {
        ExportTarget::Schema => schema(),
        ExportTarget::Env { host, bot } => {
            let file = File::read(arguments.config.as_deref())?;
            let now = config::now(arguments.now.as_deref())?;
            let output = place::output(arguments.output_dir.as_ref(), &file);
            let path = manifest::place(arguments.manifest.as_ref(), &output);
            let loaded = manifest::load(&path)?;
            if !arguments.allow_stale {
                manifest::check_age(&path, &loaded, now, arguments.max_age_days)?;
            }
            let (host, bot) = manifest::names(&loaded, &path, host.as_deref(), bot.as_deref())?;
            let (text, skipped) = env(&loaded, Choice { host, bot, force: arguments.force });
            if skipped > 0 {
                let (entries, them) = if skipped == 1 { ("entry is", "it") } else { ("entries are", "them") };
                console::print_note(format_args!(
                    "{skipped} {entries} not to be applied; --force uses {them}"
                ));
            }
            text
        }
    };
    match arguments.output.as_deref().filter(|path| path.as_os_str() != "-") {
        Some(path) => write_named(path, |out| Ok(out.write_all(text.as_bytes())?))?,
        None => {
            console::write_out(text.as_bytes())?;
        }
    }
    Ok(ExitStatus::Success)
}
