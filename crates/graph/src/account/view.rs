//! Account graphs whose reads may fail.

use assay_engine::account::AccountView;

use crate::GraphError;

/// One state of an account graph whose store may fail. After a failure the view gives empty answers: a caller asks
/// [`Self::check`] after it read and before it answers.
pub trait AccountGraphView: AccountView {
    /// Number of accounts, which are numbered from zero on.
    fn owners(&self) -> u64;
    /// Returns whether all answers so far were read.
    ///
    /// # Errors
    ///
    /// Returns the first failure of the store.
    fn check(&self) -> Result<(), GraphError>;
}
