//! What a benchmark should reach, and by how much it does not.

/// The goals of a benchmark, each with what was found.
#[derive(Default)]
pub struct Goals {
    count: usize,
    missed: Vec<String>,
}

impl Goals {
    /// What was found should be no more than this.
    pub fn at_most(&mut self, what: &str, found: f64, goal: f64, unit: &str) {
        self.count += 1;
        if found > goal {
            let over = (found / goal - 1.0) * 100.0;
            self.missed.push(format!("{what}: {found:.2}{unit} instead of at most {goal} ({over:.0} % more)"));
        }
    }

    /// What was found should be no less than this.
    pub fn at_least(&mut self, what: &str, found: f64, goal: f64, unit: &str) {
        self.count += 1;
        if found < goal {
            let under = (1.0 - found / goal) * 100.0;
            self.missed.push(format!("{what}: {found:.2}{unit} instead of at least {goal} ({under:.0} % less)"));
        }
    }

    /// Prints how many are met, and those that are not.
    pub fn print(&self) {
        println!("\nGoals: {} of {} met.", self.count - self.missed.len(), self.count);
        for missed in &self.missed {
            println!("- {missed}");
        }
    }
}
