//! `bergamot import`: converts the configuration and queue of NZBGet or SABnzbd.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use bergamot_import::{Fate, Finding, Imported, Kind, Place, QueuedNzb, queued_nzbs};
use bergamot_limit::Zone;
use bergamot_types::{SafeName, Shown};
use clap::Args;

use bergamot_config::identity::{self, Owner};
use bergamot_config::{Config, Environment, Problem};

use crate::offline::{Offline, OfflineJob, OfflineSpool};

#[derive(Args, Debug)]
pub struct Import {
    /// The nzbget.conf or sabnzbd.ini to read
    file: PathBuf,
    /// Where to write the configuration; without this option it is printed, without passwords
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Overwrite an existing configuration
    #[arg(long, requires = "output")]
    force: bool,
    /// NZBGet's queue directory: its queued NZBs become jobs at the next start. Stop NZBGet and bergamot
    /// first
    #[arg(long, value_name = "DIR", requires = "output")]
    queue: Option<PathBuf>,
}

/// The output, and the messages besides it.
#[derive(Debug)]
pub struct ImportOutput {
    pub output: String,
    pub aside: String,
}

pub fn run(command: &Import, offline: &dyn Offline) -> anyhow::Result<ImportOutput> {
    let bytes = read(&command.file, LARGEST_CONFIG)?;
    let place = Place {
        home: std::env::var("HOME").ok().filter(|home| home.starts_with('/')),
        file: command.file.to_string_lossy().into_owned(),
        zone: local_zone(),
    };
    let named = || command.file.display().to_string();
    let imported = match Kind::of(&bytes).with_context(named)? {
        Kind::Nzbget => bergamot_import::nzbget(&bytes, &place),
        Kind::Sabnzbd => bergamot_import::sabnzbd(&bytes, &place),
    };
    let imported = imported.with_context(named)?;
    let Some(output) = &command.output else {
        let aside = report(&imported.findings);
        return Ok(ImportOutput { output: imported.shown_config(), aside });
    };
    let config = checked(&imported, output)?;
    refuse_to_replace(output, command.force)?;
    let owner = owner(output, config.as_ref().ok())?;
    // What can go wrong with the queue does so before anything is written.
    let queue = match (&command.queue, &config) {
        (Some(directory), Ok(config)) => Some(Queue::open(directory, config, owner, offline)?),
        _ => None,
    };
    write(output, &imported.config(), command.force, owner)?;
    let path = output.display();
    config.map_err(|problems| {
        let report = report(&imported.findings);
        anyhow::anyhow!(
            "{report}\n{path} is written, but has errors that must be fixed first:\n{problems}"
        )
    })?;
    let mut text = report(&imported.findings);
    text.push_str(&format!("\nThe configuration is in {path}.\n"));
    if let Some(queue) = queue {
        text.push_str(&queue.take());
    }
    Ok(ImportOutput { output: text, aside: String::new() })
}

/// The parsed configuration, or its problems: a path or a host may be invalid here.
fn checked(imported: &Imported, output: &Path) -> anyhow::Result<Result<Config, Problems>> {
    let base = output.parent().filter(|base| !base.as_os_str().is_empty());
    let base = base.unwrap_or(Path::new("."));
    let base = base.canonicalize().with_context(|| base.display().to_string())?;
    let environment = Environment::of_process();
    let config = Config::parse(imported.config().as_bytes(), &base, &environment);
    Ok(config.map_err(Problems))
}

/// What the parser of the configuration reports, one line each.
#[derive(Debug)]
struct Problems(Vec<Problem>);

impl std::fmt::Display for Problems {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let lines: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

fn refuse_to_replace(path: &Path, force: bool) -> anyhow::Result<()> {
    if !force && path.symlink_metadata().is_ok() {
        bail!("{} is there already; --force writes over it", path.display());
    }
    Ok(())
}

/// There are passwords in it, so it is for its owner alone, from the first moment.
fn write(path: &Path, text: &str, force: bool, owner: Owner) -> anyhow::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let target = if force { path.with_extension("toml.new") } else { path.to_owned() };
    if force {
        let _ = fs::remove_file(&target); // of a run that was broken off
    }
    let mut file = options.open(&target).with_context(|| target.display().to_string())?;
    // Through the file and not its path: in a directory of another user the path may have become a link.
    owner.receive(&file).with_context(|| target.display().to_string())?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all())?;
    match force {
        true => fs::rename(&target, path).with_context(|| path.display().to_string()),
        false => Ok(()),
    }
}

/// The user of the daemon: the owner of its state, or the user that a container sets. All written files
/// become that user's.
fn owner(output: &Path, config: Option<&Config>) -> anyhow::Result<Owner> {
    let output = std::path::absolute(output)?;
    let beside = output.parent().unwrap_or(Path::new("/"));
    match identity::daemon_of_container()? {
        Some(owner) => {
            owner.take_if_empty(beside);
            Ok(owner)
        }
        None => Owner::of(config.map_or(beside, |config| &config.directories.state)),
    }
}

/// The time zone of this machine, if it is a known one.
fn local_zone() -> Option<String> {
    let variable = std::env::var("TZ").ok().map(|zone| zone.trim_start_matches(':').to_owned());
    let link = fs::read_link("/etc/localtime").ok().and_then(|target| {
        let target = target.to_str()?;
        target.split_once("zoneinfo/").map(|(_, zone)| zone.to_owned())
    });
    let file = fs::read_to_string("/etc/timezone").ok().map(|text| text.trim().to_owned());
    let named = [variable, link, file].into_iter().flatten().find(|zone| !zone.is_empty());
    named.filter(|zone| zone.parse::<Zone>().is_ok())
}

/// NZBGet's, and the spool that its jobs go to, which no daemon uses meanwhile.
struct Queue {
    directory: PathBuf,
    jobs: Vec<QueuedNzb>,
    spool: Box<dyn OfflineSpool>,
    owner: Owner,
}

impl Queue {
    fn open(
        directory: &Path,
        config: &Config,
        owner: Owner,
        offline: &dyn Offline,
    ) -> anyhow::Result<Self> {
        let path = directory.join("queue");
        let jobs = queued_nzbs(&read(&path, LARGEST_CONFIG)?)
            .with_context(|| format!("{} is no queue of NZBGet", path.display()))?;
        let spool = owner.act(|| offline.open_spool(config))??;
        Ok(Self { directory: directory.to_owned(), jobs, spool, owner })
    }

    fn take(&self) -> String {
        let mut text = String::new();
        let mut taken = 0;
        for job in &self.jobs {
            // NZBGet's files may be readable by root only.
            let nzb = read(&nzb_of(job, &self.directory), LARGEST_NZB);
            let wanted = wanted(job);
            match nzb.and_then(|nzb| self.owner.act(|| self.spool.add(&wanted, &nzb))?) {
                Ok(()) => taken += 1,
                Err(error) => text.push_str(&format!("{}: {error:#}\n", Shown(&job.name))),
            }
        }
        let all = self.jobs.len();
        text.push_str(&format!("{taken} of {all} queued NZBs are queued here now.\n"));
        text
    }
}

fn wanted(job: &QueuedNzb) -> OfflineJob {
    let file_name = SafeName::from_raw(&format!("{}.nzb", job.name)).as_str().to_owned();
    OfflineJob {
        source: format!("import {file_name}"),
        file_name,
        category: job.category.clone(),
        priority: job.priority,
        paused: job.paused,
    }
}

/// Where NZBGet has it; or, if its directories were moved, beside its queue.
fn nzb_of(job: &QueuedNzb, queue: &Path) -> PathBuf {
    let path = PathBuf::from(&job.path);
    if path.exists() {
        return path;
    }
    let name = path.file_name().unwrap_or_default();
    let moved = queue.parent().unwrap_or(Path::new(".")).join("nzb");
    let in_category = job.category.as_ref().map(|category| moved.join(category).join(name));
    let places = in_category.into_iter().chain([moved.join(name)]);
    places.into_iter().find(|place| place.exists()).unwrap_or(path)
}

/// The most important first.
fn report(findings: &[Finding]) -> String {
    let mut text = String::new();
    for fate in [Fate::Left, Fate::Changed, Fate::Carried, Fate::Needless] {
        let found: Vec<&Finding> = findings.iter().filter(|it| it.fate == fate).collect();
        if !found.is_empty() {
            text.push_str(&format!("{fate}: {}\n", found.len()));
        }
        for finding in found {
            text.push_str(&format!("  {}: {}\n", finding.option, finding.note));
        }
    }
    text
}

fn read(path: &Path, limit: u64) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let named = || path.display().to_string();
    File::open(path)
        .with_context(named)?
        .take(limit + 1)
        .read_to_end(&mut bytes)
        .with_context(named)?;
    if bytes.len() as u64 > limit {
        bail!("{} has more than {limit} bytes", path.display());
    }
    Ok(bytes)
}

/// A little more than the limit of the parser, so that the parser reports the excess.
const LARGEST_CONFIG: u64 = 5 << 20;
/// As much as may be sent.
const LARGEST_NZB: u64 = 128 << 20;
