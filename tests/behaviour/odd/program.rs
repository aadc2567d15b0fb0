// Threads, panics that unwind, processes: prints the same everywhere.
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    let total = Arc::new(Mutex::new(0u64));
    let threads: Vec<_> = (0..200u64)
        .map(|number| {
            let total = Arc::clone(&total);
            thread::spawn(move || {
                *total.lock().unwrap_or_else(|error| error.into_inner()) += number;
                assert!(number % 10 != 3, "unwound");
            })
        })
        .collect();
    let panics = threads.into_iter().map(|thread| thread.join()).filter(Result::is_err).count();
    let output = Command::new("echo").arg("child").output().unwrap();
    let sum = *total.lock().unwrap_or_else(|error| error.into_inner());
    println!("{} {} {}", sum, panics, String::from_utf8_lossy(&output.stdout).trim());
}
