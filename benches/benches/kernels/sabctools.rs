//! The other side of the race: a Python process that decodes the same articles when told to.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

pub(crate) struct Sabctools {
    pub(crate) name: String,
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Sabctools {
    /// Installs it below `target` if it is not there yet, and lets it read the articles.
    pub(crate) fn start(articles: &[Vec<u8>]) -> io::Result<Self> {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let python = directory.join("sabctools/bin/python");
        if !python.exists() {
            fs::create_dir_all(directory)?;
            run(Command::new("python3").args(["-m", "venv"]).arg(directory.join("sabctools")))?;
            let install =
                ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", VERSION];
            run(Command::new(&python).args(install))?;
        }
        let file = directory.join("kernels.articles");
        write_articles(&file, articles)?;
        let mut child = Command::new(&python)
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/benches/kernels/rounds.py"))
            .arg(&file)
            // It allocates a buffer for each article. Freed memory shall stay with the process, or
            // page faults would be measured.
            .envs([("MALLOC_MMAP_THRESHOLD_", KEEP), ("MALLOC_TRIM_THRESHOLD_", KEEP)])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let orders = child.stdin.take().expect("stdin is piped");
        let answers = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let mut sabctools = Self { name: String::new(), child, orders, answers };
        sabctools.name = sabctools.line()?;
        Ok(sabctools)
    }

    /// The seconds it counted for one round over all articles.
    pub(crate) fn round(&mut self) -> Duration {
        self.orders.write_all(b"\n").expect("rounds.py runs");
        let line = self.line().expect("rounds.py answers");
        Duration::from_secs_f64(line.parse().expect("seconds"))
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        match self.answers.read_line(&mut line)? {
            0 => Err(io::Error::other("rounds.py has ended")),
            _ => Ok(line.trim_end().to_owned()),
        }
    }
}

impl Drop for Sabctools {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn run(command: &mut Command) -> io::Result<()> {
    let status = command.status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("{command:?}: {status}"))) }
}

/// Each behind its length, in eight bytes.
fn write_articles(path: &Path, articles: &[Vec<u8>]) -> io::Result<()> {
    let mut file = File::create(path)?;
    for article in articles {
        file.write_all(&(article.len() as u64).to_le_bytes())?;
        file.write_all(article)?;
    }
    Ok(())
}

const VERSION: &str = "sabctools==9.7.2";
const KEEP: &str = "1000000000";
