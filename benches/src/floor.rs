//! The floor: what the machine takes when nothing is decoded, checked or decided.
//!
//! Blocking threads, one reused buffer each, and answers written as they came to the place they have
//! in a preallocated file. The length of every answer is known beforehand.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::ensure;
use clap::Args;
use rustix::fs::{FallocateFlags, fallocate};

use crate::plan::Plan;
use crate::secured::Secured;

#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    #[arg(long)]
    port: u16,
    #[arg(long)]
    plan: PathBuf,
    /// Where files are written to; without, answers are only read.
    #[arg(long)]
    folder: Option<PathBuf>,
    #[arg(long)]
    connections: usize,
    /// Commands under way at once.
    #[arg(long)]
    depth: usize,
    #[arg(long)]
    tls: bool,
}

/// Waits for a line before it begins, says when it is done, and stays to be looked at until another.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let (plan, next) = (Plan::read(&options.plan)?, AtomicUsize::new(0));
    let mut lines = io::stdin().lock().lines();
    println!("ready");
    lines.next().transpose()?;
    let mut files = Vec::new();
    for (folder, file) in
        options.folder.iter().flat_map(|it| plan.files.iter().map(move |f| (it, f)))
    {
        files.push(File::create(folder.join(&file.name))?);
        fallocate(&files[files.len() - 1], FallocateFlags::empty(), 0, file.wire_size)?;
    }
    let work = || {
        let socket = TcpStream::connect((Ipv4Addr::LOCALHOST, options.port))?;
        socket.set_nodelay(true)?;
        match options.tls {
            false => fetch(socket, options.depth, &plan, &next, &files),
            true => fetch(Secured::new(socket)?, options.depth, &plan, &next, &files),
        }
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..options.connections).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("it does not panic"))
    })?;
    println!("done");
    lines.next().transpose()?;
    Ok(())
}

fn fetch(
    mut stream: impl Read + Write,
    depth: usize,
    plan: &Plan,
    next: &AtomicUsize,
    files: &[File],
) -> anyhow::Result<()> {
    let (mut buffer, mut asked) = (vec![0; BUFFER], VecDeque::new());
    ensure!(stream.read(&mut buffer)? > 0, "no greeting");
    loop {
        let mut commands = String::new();
        while asked.len() < depth
            && let Some(article) = plan.articles.get(next.fetch_add(1, Ordering::Relaxed))
        {
            commands.extend(["BODY <", &article.id, ">\r\n"]);
            asked.push_back(article);
        }
        stream.write_all(commands.as_bytes())?;
        let Some(article) = asked.pop_front() else { return Ok(()) };
        for start in (0..article.length).step_by(BUFFER) {
            let piece = &mut buffer[..BUFFER.min(article.length - start)];
            stream.read_exact(piece)?;
            if let Some(file) = files.get(article.file) {
                file.write_all_at(piece, article.offset + start as u64)?;
            }
            ensure!(start + BUFFER < article.length || piece.ends_with(b".\r\n"), "cut short");
        }
    }
}

const BUFFER: usize = 256 << 10;
