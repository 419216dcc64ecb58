//! Posts that are added while servers run, and what was asked of them when.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bergamot_newsd::{Articles, Generated};

/// The posts behind a server, with a list of every article that was handed out.
#[derive(Debug, Default)]
pub struct Library {
    shelves: Mutex<Shelves>,
}

/// One article, once.
#[derive(Clone, Copy, Debug)]
pub struct Loan {
    pub at: Instant,
    pub post: usize,
    pub file: usize,
    pub part: u32,
    /// On the wire.
    pub bytes: u64,
}

#[derive(Debug, Default)]
struct Shelves {
    posts: Vec<Arc<Generated>>,
    numbers: HashMap<String, usize>, // of posts, by what the ids of one have in common
    loans: Vec<Loan>,
}

impl Library {
    /// Adds a post and gives its number.
    pub fn add(&self, post: Generated) -> usize {
        let mut shelves = self.shelves();
        let number = shelves.posts.len();
        shelves.numbers.insert(common(&post.id(0, 1)).to_owned(), number);
        shelves.posts.push(Arc::new(post));
        number
    }

    /// What was handed out since the last time this was asked.
    pub fn take_loans(&self) -> Vec<Loan> {
        std::mem::take(&mut self.shelves().loans)
    }

    fn find(&self, id: &str) -> Option<(usize, Arc<Generated>)> {
        let shelves = self.shelves();
        let number = *shelves.numbers.get(common(id))?;
        Some((number, shelves.posts[number].clone()))
    }

    fn shelves(&self) -> MutexGuard<'_, Shelves> {
        self.shelves.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Articles for Library {
    fn contains(&self, id: &str) -> bool {
        self.find(id).is_some_and(|(_, post)| post.contains(id))
    }

    fn append_body(&self, id: &str, out: &mut Vec<u8>) -> bool {
        let Some((post, generated)) = self.find(id) else { return false };
        let before = out.len();
        let is_there = generated.append_body(id, out);
        let mut numbers = id.split('.').map_while(|word| word.parse().ok());
        if let (true, Some(file), Some(part)) = (is_there, numbers.next(), numbers.next()) {
            let (file, bytes) = (file as usize, (out.len() - before) as u64);
            self.shelves().loans.push(Loan { at: Instant::now(), post, file, part, bytes });
        }
        is_there
    }

    fn subject(&self, id: &str) -> Option<String> {
        self.find(id)?.1.subject(id)
    }

    fn another(&self, id: &str) -> Option<String> {
        self.find(id)?.1.another(id)
    }
}

/// The part of an id that all articles of a post share.
fn common(id: &str) -> &str {
    id.splitn(3, '.').nth(2).unwrap_or_default()
}
