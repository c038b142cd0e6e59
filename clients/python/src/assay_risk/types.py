"""Types of the API. Generated from its description: run `just generate`."""

from __future__ import annotations

from typing import Literal, NotRequired, TypeAlias, TypedDict


class CheckResponse(TypedDict):
    """Answer to a check. The type describes the answer; [`print`] writes it."""

    check_id: str
    """Identifier of this check."""
    reference: NotRequired[str | None]
    """Your reference from the request."""
    direction: NotRequired[TransferDirection | None]
    """Your direction from the request."""
    address_submitted: str
    """The address as it was submitted; if an output names the transfer, the receiver's address in canonical form."""
    blockchain: ChainId
    """Identifier of the blockchain."""
    address: str
    """Address in canonical form; for a transfer, the receiver's address."""
    transfer: NotRequired[AssessedTransfer | None]
    """The transfer that was assessed; left out of an assessment of an address."""
    risk_score: Score
    """Risk score, 0 to 100, with at most one decimal."""
    risk_level: RiskLevel
    """Risk level of the score under the policy; `unknown` where mandatory data is missing."""
    verdict: Verdict
    """Verdict of the policy."""
    complete: bool
    """`false` where mandatory data is missing or stale: the answer may change when the data is complete."""
    reasons: list[Reason]
    """Reasons for the verdict, most important first."""
    entity: NotRequired[Entity | None]
    """Entity that the address belongs to, where known."""
    labels: list[AssessedLabel]
    """Labels of the address, each with its source and status."""
    conflicts: list[Conflict]
    """Pairs of labels that contradict each other."""
    sanctions: list[AssessedListing]
    """Listings of the address itself on sanctions lists, ended ones included."""
    further: NotRequired[FurtherItems | None]
    """Numbers of labels, conflicts and listings that are not shown one by one, because the address has more than 100 of their kind, or fewer with long texts; the strongest are shown, and all count. Left out if all are shown."""
    scoring_components: list[ScoringComponent]
    """Components of the score. The contributions of all components sum exactly to `risk_score`. At most 100 labels and 100 flows are components of their own, the strongest; one component each has the contribution of the others."""
    decisive: NotRequired[Decisive | None]
    """Components that decided a `review` or a `block`. Left out of other verdicts."""
    exposure: list[Exposure]
    """Origins and destinations of funds. Shares of one direction and asset sum exactly to 1."""
    contracts: NotRequired[ContractUse | None]
    """Dealings with contracts on an account chain: own money that they exchanged or gave back, tokens and claims, and what they paid from their own. Left out without any."""
    associated_wallets: list[AssociatedWallet]
    """Addresses that are associated with the assessed address."""
    transaction_patterns: list[AssessedPattern]
    """Behavior patterns that were detected."""
    activity: Activity
    """Activity of the address over its lifetime."""
    warnings: list[Warning]
    """Circumstances that limit the answer and do not change the score."""
    coverage: Coverage
    """Status of each kind of evidence: assessed, partial, or why not."""
    sources: list[AssessedSource]
    """Sources that the assessment uses, with their freshness."""
    scope: AssessmentScope
    """Evidence that the assessment covers."""
    environment: Environment
    """Kind of data: `production`, `sample` for the demo data set, or `sandbox` for made-up facts."""
    data_revision: str
    """Identifier of the data that the assessment uses."""
    model_version: str
    """Version of the risk model."""
    policy_revision: str
    """Identifier of the policy's content: equal for policies that decide alike."""
    chains: NotRequired[list[ChainVerdict] | None]
    """The account on each EVM chain, of a check with the blockchain `evm`; left out of other checks."""
    assessed_at: str
    """Time of the assessment."""
    assessment_digest: str
    """SHA-256 of the assessment's canonical JSON: everything in this answer except `check_id`, `reference`, `direction`, `address_submitted`, `assessed_at`, `assessment_digest`, `cached`, `processing_time_ms` and each source's `fetched_at`."""
    cached: bool
    """True if the assessment is repeated from the cache."""
    processing_time_ms: float
    """Milliseconds from the request's arrival to this answer."""


TransferDirection: TypeAlias = Literal["deposit", "withdrawal"]
"""Direction of a transfer, as the caller sees it.

| value | meaning |
|---|---|
| `deposit` | Funds come to the caller. |
| `withdrawal` | Funds go out from the caller. |"""


ChainId: TypeAlias = str
"""Lowercase identifier of a blockchain. The list may grow."""


class AssessedTransfer(TypedDict):
    """A transfer that was assessed."""

    transaction: NotRequired[str | None]
    """Identifier of the transaction; null for a withdrawal that is not sent yet."""
    direction: TransferDirection
    """Direction of the transfer."""
    account: NotRequired[AssessedAccountTransfer | None]
    """The transfer on an account chain; left out on chains of outputs."""
    planned: NotRequired[AssessedPlan | None]
    """The withdrawal that is not sent yet; left out of other transfers."""
    outputs: list[AssessedOutput]
    """Outputs of the transaction that make up the transfer, in order: at most 100. None on an account chain."""
    outputs_count: int
    """Number of the outputs."""
    amount: Amount
    """Total of the outputs, or the amount of an account chain's transfer."""
    status: TransferStatus
    """Status of the transaction."""
    confirmations: int
    """Number of known blocks from the transaction's block on, including that block; 0 without a block."""
    block_height: NotRequired[int | None]
    """Height of the transaction's block; null if no block holds the transaction."""
    block_time: NotRequired[str | None]
    """Time of the transaction's block; null if no block holds the transaction."""
    senders: list[Sender]
    """Owners of the transaction's inputs, or accounts whose money the transfer was, those with the largest amounts first: at most 100. Of a withdrawal that is not sent yet, the sender that the request names."""
    senders_count: int
    """Number of owners that were read."""
    basis: TransferBasis
    """Funds from which `exposure` and the score are computed."""
    destinations: list[Exposure]
    """Destinations of the funds of this transfer; for withdrawals only. Shares sum exactly to 1."""


AssessedAccountTransfer = TypedDict(
    "AssessedAccountTransfer",
    {
        "asset": "str",
        "place": "str",
        "from": "NotRequired[str | None]",
        "to": "str",
        "initiator": "NotRequired[str | None]",
    },
)
"""Transfer of an account chain."""


AssessedPlan = TypedDict(
    "AssessedPlan",
    {
        "asset": "str",
        "from": "NotRequired[str | None]",
        "to": "str",
    },
)
"""Withdrawal that is not sent yet."""


class AssessedOutput(TypedDict):
    """Output of an assessed transfer."""

    index: int
    """Index among the transaction's outputs, from 0."""
    amount: Amount
    """Amount of the output."""


class Amount(TypedDict):
    """Amount of an asset."""

    value: str
    """In base units of the asset, as a decimal string."""
    asset: str
    """The asset's ticker; `USD` counts cents."""
    usd: NotRequired[str | None]
    """Value in US dollars, rounded down to cents, where a price is known: for the transfer of an assessment and its senders by the price of the block's day, for other amounts by that of the day of the assessment. The value changes neither score nor verdict."""
    price_day: NotRequired[str | None]
    """UTC day of the price behind `usd`, if the price is that of an earlier day. Left out otherwise."""


TransferStatus: TypeAlias = str
"""Status of an assessed transfer's transaction.

Further values may be added.

| value | meaning |
|---|---|
| `confirmed` | A block holds the transaction. |
| `unconfirmed` | The transaction is in the mempool of a node, and no block holds it yet. |
| `planned` | The withdrawal is not sent yet. |"""


class Sender(TypedDict):
    """Owner of inputs of an assessed transfer's transaction."""

    address: NotRequired[str | None]
    """Address in canonical form; null for a script or a pool without an address."""
    amount: Amount
    """Total of the owner's inputs."""
    category: NotRequired[Category | None]
    """Category of the party to which a listing or a strong label attributes the owner; null otherwise."""
    entity: NotRequired[str | None]
    """Name of the party, where known."""
    listed: bool
    """True if the party is on a list in force."""


Category: TypeAlias = str
"""Entity category; `GET /api/v1/signals` defines each. The list may grow."""


TransferBasis: TypeAlias = str
"""Funds on which the assessment of a transfer is based.

Further values may be added.

| value | meaning |
|---|---|
| `origins` | The origins of this transfer's funds alone: every deposit. |
| `receiver` | All funds that the receiver received and sent: a withdrawal that is assessed like its receiver. |
| `destinations` | All funds that the receiver received, and the destinations of this transfer's funds alone: a withdrawal whose own funds went to riskier destinations than the receiver's funds together. |
| `payment` | All funds that the receiver received and sent, and rules of the policy that the payment itself meets: a withdrawal that is not sent yet. |"""


class Exposure(TypedDict):
    """Funds of one direction that came from, or went to, one party or kind of endpoint."""

    direction: Direction
    """Direction of the funds."""
    endpoint_type: str
    """Kind of endpoint: a category, `mining`, `bridge`, `unspent_by_subject` (the address itself holds the funds), `unspent_downstream` (an address further on the path holds them), `fee`, `returned` (funds of the address that came back to it; they were counted when they first came, and are not counted again in shares or the score), `destroyed` (funds sent to an address or script that nobody controls) or `unresolved`."""
    unresolved_reason: NotRequired[UnresolvedReason | None]
    """Reason for which the funds were not followed to an endpoint; null where the funds were followed to an endpoint."""
    coinjoin: NotRequired[str | None]
    """Protocol of the joint transaction that the funds passed, if the funds are scored by that transaction."""
    category: NotRequired[Category | None]
    """Category by which the funds are scored: that of the endpoint, or of a label on the path that weighs more."""
    entity: NotRequired[str | None]
    """Name of the entity at the endpoint."""
    listing: NotRequired[PartyListing | None]
    """Entry of the sanctions list that names the entity; null where the entity is not listed, or lies beyond the trace's last transactions."""
    amount: Amount
    """Amount of the funds."""
    assets: NotRequired[list[Amount]]
    """On an account chain, the amounts of each asset in its base units, as far as they are known: further on, only values are divided. Absent on other chains."""
    share: str
    """Share of all funds of the direction without `returned` funds, as a decimal from 0 to 1; 0 for `returned` funds."""
    recent_amount: Amount
    """Part of the amount that moved in the last 90 days."""
    outstanding: NotRequired[Amount | None]
    """Greatest sum of the funds that was outstanding with the direct counterparty at any time, if funds went round: as much lowers the shares by which other funds are scored. Null where that is the whole amount."""
    before_listing: NotRequired[Amount | None]
    """Part of the amount that moved before the party was listed; null where the party is not listed or the day is not known."""
    since_listing: NotRequired[Amount | None]
    """Part of the amount that moved on the day of the listing or later."""
    hops: NotRequired[int | None]
    """Fewest hops to the endpoint: 1 is direct, 0 stands for funds that the address itself holds. Null if the endpoint lies beyond the trace's last transactions."""
    further_than_transactions: NotRequired[int | None]
    """Number of transactions that the trace passed before it stopped; null unless the endpoint lies beyond its last transactions. The amount is then computed from the compositions (breakdowns of a transaction's funds by origin) of the transactions at which the trace stopped."""
    direct: bool
    """True if the party is a direct counterparty."""
    listed: bool
    """True if the party is on a list in force."""
    solicited: bool
    """`false` for funds that an unrelated party sent unsolicited, such as dust."""
    untouched: bool
    """True for funds of risky or listed parties that came unasked, from senders whom the address never paid, and of which the address moved nothing. Such funds lead to a review at most."""
    dust: bool
    """True for dust: payments of negligible amounts. Dust counts for the score only if it is risky and, together with other risky unsolicited funds, exceeds the policy's limit."""
    scored: bool
    """True if the funds count for the score; dust and small sums of unsolicited funds do not."""
    parts: list[ExposurePart]
    """Parts of the amount by their attributions, as minimum score rules evaluate them. Funds without a category are in none of the parts."""
    transactions: list[str]
    """Transactions that show the exposure, those of the largest path first."""
    paths: list[ExposurePath]
    """Paths with the largest amounts, from the address outwards."""


Direction: TypeAlias = Literal["source", "destination"]
"""Direction in which funds are followed.

| value | meaning |
|---|---|
| `source` | Origins of the subject's funds. |
| `destination` | Destinations of the subject's funds. |"""


UnresolvedReason: TypeAlias = str
"""Reason for which funds were not followed further.

Further values may be added.

| value | meaning |
|---|---|
| `depth_limit` | The trace reached its largest number of hops. |
| `below_threshold` | The share and the amount of the funds are both below the policy's thresholds for following. |
| `trace_limit` | The trace read as many inputs and outputs as its budget allows. |
| `conversion` | Several assets were exchanged at once and no price is known. |
| `unknown_origin` | The funds come from before the first known block. |"""


class PartyListing(TypedDict):
    """The entry of a sanctions list that names a party."""

    list_name: str
    """Name of the list."""
    list: ListId
    """Identifier of the list."""
    programs: list[str]
    """Sanctions programs under which the party is listed."""
    entity_id: str
    """Identifier of the entity on the list."""
    listed_on: NotRequired[str | None]
    """Day of the listing; null where the day is not known."""


ListId: TypeAlias = str
""""""


class ExposurePart(TypedDict):
    """Part of an exposure whose funds have the same attributions."""

    amount: str
    """Amount in base units, as a decimal string."""
    recent_amount: str
    """Part of the amount that moved in the last 90 days."""
    outstanding: NotRequired[str | None]
    """Part of the amount that was outstanding at most, as a decimal string; null where that is the whole amount."""
    since_listing: NotRequired[str | None]
    """Part of the amount that moved since the party was listed; null where the party is not listed or the day is not known."""
    scored: bool
    """True if the funds count for the score."""
    claims: list[RuleClaim]
    """Attributions: that of the endpoint, and those of labels on the path."""


class RuleClaim(TypedDict):
    """One attribution of funds."""

    category: Category
    """Category of the party."""
    tier: Tier
    """Strength of the attribution."""
    hops: NotRequired[int | None]
    """Hops between the address and the party; 1 is direct. Null if the party lies beyond the trace's last transactions."""
    direct: bool
    """True if the party is a direct counterparty."""
    listed: bool
    """True if the party is on a list in force."""
    confidence: NotRequired[Confidence]
    """Confidence of the attribution, in percent."""
    joint: NotRequired[bool]
    """True if the claim is a joint transaction that the funds passed, and not a label of an address."""
    unasked: NotRequired[bool]
    """True if the claim is risky and nothing shows that the address asked for the funds. Such claims lead to a review at most, and rules do not count their funds as recent."""
    paid_back: NotRequired[bool]
    """True if the funds came directly from the party, and the address had sent the party at least as much before."""


Tier: TypeAlias = str
"""The strength of a piece of evidence, strongest first.

Further values may be added.

| value | meaning |
|---|---|
| `official_list` | An official sanctions list. |
| `on_chain_proof` | A cryptographic or on-chain fact: the same key, or a freeze by an asset's issuer. |
| `investigation` | An investigation: curated tag packs, explorers' name tags, co-spend clusters. |
| `community` | Users' reports and scraped lists. |
| `heuristic` | Heuristics: change links, deposit-address reuse. |
| `behavior` | Behaviour alone. |"""


Confidence: TypeAlias = int
"""Percent."""


class ExposurePath(TypedDict):
    """Path that funds took."""

    amount: Amount
    """Amount that took the path."""
    steps: list[PathStep]
    """Hops of the path, the address's own transaction first."""


class PathStep(TypedDict):
    """One hop of a path."""

    blockchain: NotRequired[str | None]
    """Blockchain of the transaction, if it is another one than that of the checked address: the step is behind a bridge. Absent on the same blockchain."""
    transaction: str
    """The transaction."""
    address: NotRequired[str | None]
    """Address on the other side of the transaction; null if the party has no address, or if there is no party: newly mined coins, a fee."""
    time: str
    """Time of the transaction's block."""
    amount: NotRequired[str | None]
    """Amount that the party paid into the transaction, or received from the transaction, in base units, as a decimal string. The amount includes funds that did not take this path. Null if there is no party."""
    asset: NotRequired[str | None]
    """Asset of the amount on an account chain: `native` or the address of the token's contract. Absent on other chains."""
    place: NotRequired[str | None]
    """Place of the transfer in its transaction on an account chain, such as `log 12` or `trace 0,1`. Absent if it is not known, and on other chains."""
    label: NotRequired[StepLabel | None]
    """Attribution of the party; null if none is known."""
    via: NotRequired[list[StepVia]]
    """On an account chain, the contracts at which the party got the asset for its own money since the step before, in the order of the chain: the funds reached it in another asset, or by an earlier payment that a contract gave back. Absent without any."""


class StepLabel(TypedDict):
    """Attribution of a party on a path: the attribution that ends the trace, or else the riskiest label of its address."""

    category: Category
    """Category of the party."""
    entity: NotRequired[str | None]
    """Name of the entity."""
    tier: Tier
    """Strength of the attribution."""
    confidence: Confidence
    """Confidence of the attribution, in percent."""
    listed: bool
    """True if the party is on a list in force."""


class StepVia(TypedDict):
    """A contract that left a party on a path its own money."""

    address: str
    """Address of the contract."""
    entity: NotRequired[str | None]
    """Name of the contract by lists and labels; null if it has none."""
    transaction: str
    """The transaction."""
    gave: NotRequired[str | None]
    """Asset that the party gave, if the contract exchanged it; null if the contract gave money back."""


Score: TypeAlias = float
"""0 to 100 with at most one decimal."""


RiskLevel: TypeAlias = Literal["unknown", "low", "medium", "high", "severe"]
"""Risk level of a score.

| value | meaning |
|---|---|
| `unknown` | Mandatory data is missing, so that a low score is not conclusive. |
| `low` | Score below the threshold of `medium`. |
| `medium` | Score from the threshold of `medium`. |
| `high` | Score from the threshold of `high`. |
| `severe` | Score from the threshold of `severe`. |"""


Verdict: TypeAlias = Literal["allow", "indeterminate", "review", "block"]
"""Verdict of a policy on an address.

| value | meaning |
|---|---|
| `allow` | The score is below the review threshold, and all mandatory data is present. |
| `indeterminate` | Mandatory data is missing or stale: do not treat this as `allow`. |
| `review` | The score reached the review threshold: a person should decide. |
| `block` | The score reached the block threshold. |"""


class Reason(TypedDict):
    """A reason for the verdict."""

    code: str
    """Stable identifier for programs. New identifiers may be added."""
    message: str
    """Explanation for people."""


class Entity(TypedDict):
    """Entity that an address belongs to."""

    id: str
    """Source or list, and the entity's identifier in that source or list."""
    name: str
    """Name of the entity."""
    category: Category
    """Category of the entity."""
    is_vasp: NotRequired[bool | None]
    """True if the entity is a virtual asset service provider (VASP); null if that property is not known."""
    country: NotRequired[str | None]
    """ISO 3166 code of the entity's country; null where the country is not known."""


class AssessedLabel(TypedDict):
    """A label with its status in the assessment."""

    category: Category
    """Category that the label states."""
    entity: NotRequired[str | None]
    """Name of the entity."""
    tier: Tier
    """Strength of the evidence."""
    confidence: Confidence
    """Confidence of the claim, in percent."""
    source: SourceId
    """Source from which the label was imported."""
    upstream: str
    """First publisher of the claim. Labels that repeat a claim of one upstream count once."""
    author: NotRequired[str | None]
    """Author of the label, where known."""
    term: NotRequired[str | None]
    """The source's own word for the category."""
    reason: NotRequired[str | None]
    """Reason that the source gives."""
    reference: NotRequired[str | None]
    """Reference for the claim, mostly a URL."""
    valid_from: NotRequired[str | None]
    """First day on which the label is valid."""
    valid_until: NotRequired[str | None]
    """First day on which the label is no longer valid."""
    status: LabelStatus
    """Status of the label in the assessment."""


SourceId: TypeAlias = str
""""""


LabelStatus: TypeAlias = str
"""Status of a label in an assessment.

Further values may be added.

| value | meaning |
|---|---|
| `in_force` | The label counts. |
| `duplicate` | Another label makes the same claim from the same upstream source, at least as strongly, and counts instead. |
| `overruled` | Stronger evidence contradicts the label. |
| `contradicted_by_list` | The label cites a sanctions list that does not, or no longer, name the address. |
| `listing_ended` | The label rests on a sanctions listing of the address, and every listing of the address has ended. |
| `not_in_force` | The day is outside the label's validity. |
| `unowned` | Nobody controls the address, which no label can attribute to anybody. |"""


class Conflict(TypedDict):
    """Two labels that contradict each other."""

    risky_category: Category
    """Category of the risky label."""
    risky_source: SourceId
    """Source of the risky label."""
    benign_category: Category
    """Category of the benign label."""
    benign_source: SourceId
    """Source of the benign label."""
    resolution: ConflictResolution
    """Resolution of the conflict."""


ConflictResolution: TypeAlias = str
"""Resolution of a conflict between labels.

Further values may be added.

| value | meaning |
|---|---|
| `risky_counts` | The risky label is the stronger evidence and counts. |
| `risky_overruled` | The benign label is the stronger evidence; the risky label does not count. |
| `risky_counts_without_block` | The labels are equally strong: the risky label counts, but cannot cause a block. |"""


class AssessedListing(TypedDict):
    """A listing of the address itself."""

    list: ListId
    """Identifier of the list."""
    list_name: str
    """Name of the list."""
    effect: ListEffect
    """Effect of the list under the policy."""
    status: ListingStatus
    """Status of the listing."""
    entity_id: str
    """Identifier of the entity on the list."""
    entity: str
    """Primary name of the entity."""
    aliases: list[Alias]
    """Other names of the entity."""
    programs: list[str]
    """Sanctions programs under which the entity is listed."""
    order_number: NotRequired[str | None]
    """Number by which the publisher refers to the entry, such as `ASO 12/24`."""
    legal_basis: NotRequired[str | None]
    """Law, regulation or decision that the entry rests on."""
    official_link: NotRequired[str | None]
    """Address of the publisher's page or document about the entry."""
    identifiers: list[str]
    """Documents and numbers by which the list identifies the entity, such as `Passport 040070827`."""
    remarks: NotRequired[str | None]
    """Remarks of the list on the entity and the address; the sentence that names the address, if the list states the address in free text only."""
    asset_code: str
    """Asset code of the list, such as `XBT`."""
    address_as_published: str
    """Address as the list prints it."""
    entity_listed_on: NotRequired[str | None]
    """Date on which the entity was listed, as the list states it."""
    listed_on: NotRequired[str | None]
    """Date of the first publication known to hold the address; null where the oldest known publication already holds the address."""
    delisted_on: NotRequired[str | None]
    """Date of the first publication without the address."""
    expires_on: NotRequired[str | None]
    """First day on which the listing is not valid by its own terms."""
    ended_reason: NotRequired[EndedReason | None]
    """Reason for which the listing ended, if the listing has ended."""
    source: SourceId
    """Source from which the listing was imported."""


ListEffect: TypeAlias = str
"""Effect of a sanctions list.

Further values may be added.

| value | meaning |
|---|---|
| `blocking` | An active listing gives the score 100 and the verdict `block`; no other evidence weakens such a listing. |
| `advisory` | An active listing raises the score to the review threshold. |"""


ListingStatus: TypeAlias = str
"""Status of a listing on a given day.

Further values may be added.

| value | meaning |
|---|---|
| `active` | In force. |
| `recently_expired` | Expired by its own terms fewer than 90 days ago. |
| `expired` | Expired by its own terms 90 days ago or earlier. |
| `delisted` | A later publication dropped the listing. |
| `not_yet_listed` | Not yet in force. |"""


class Alias(TypedDict):
    """Another name of a listed entity."""

    name: str
    """The name."""
    kind: str
    """The list's word for the kind, such as `A.K.A.`."""
    weak: bool
    """True if the list itself calls the name a weak alias."""


EndedReason: TypeAlias = str
"""Reason for which a listing is no longer in force.

Further values may be added.

| value | meaning |
|---|---|
| `delisted` | A later publication dropped the listing. |
| `expired` | The listing expired by its own terms. |
| `renewed` | The list renewed the listing: another listing of the same entry is in force. |"""


class FurtherItems(TypedDict):
    """Numbers of items that an assessment does not show one by one."""

    labels: int
    """Labels of the address beyond `labels`."""
    conflicts: int
    """Conflicts beyond `conflicts`."""
    sanctions: int
    """Listings of the address beyond `sanctions`."""


class ScoringComponent(TypedDict):
    """A component of the score."""

    kind: ComponentKind
    """Kind of evidence."""
    rule: NotRequired[str | None]
    """Identifier of the minimum score rule that fired; `/signals` lists the rules. Null for components of other kinds."""
    pattern: NotRequired[Pattern | None]
    """Behavior pattern, for the kind `behavior`; null for other kinds."""
    contribution: Score
    """Points that the component contributes to the score. All contributions sum exactly to `risk_score`."""
    standalone_score: Score
    """Score that this evidence alone would give."""
    detail: str
    """Explanation for people."""
    category: NotRequired[Category | None]
    """Category of the party or label."""
    entity: NotRequired[str | None]
    """Name of the entity."""
    tier: NotRequired[Tier | None]
    """Strength of the evidence."""
    severity: NotRequired[int | None]
    """Severity of the category or pattern under the policy, 0 to 100."""
    confidence: NotRequired[Confidence | None]
    """Confidence of the evidence, in percent."""
    direction: NotRequired[Direction | None]
    """Direction of the funds."""
    hops: NotRequired[int | None]
    """Hops between the address and the party; 1 is direct."""
    share: NotRequired[str | None]
    """Share of all funds of the direction, as a decimal from 0 to 1."""
    amount: NotRequired[Amount | None]
    """Amount of the funds."""
    source: NotRequired[SourceId | None]
    """Source of the evidence."""
    evidence: list[EvidenceReference]
    """References to the evidence."""


ComponentKind: TypeAlias = str
"""Kind of evidence of a component.

Further values may be added.

| value | meaning |
|---|---|
| `sanctions` | A sanctions list names the address. |
| `ownership` | A label of the address itself. |
| `association` | An address of the same key or co-spend cluster. |
| `exposure` | Funds received from, or sent to, a party. |
| `behavior` | A behavior pattern. |
| `minimum_score_rule` | A minimum score rule: such a rule raises the score to the threshold of the rule's verdict. |
| `incomplete` | Mandatory data is missing or stale. |"""


Pattern: TypeAlias = str
"""A pattern of behavior. Later versions may add patterns.

Further values may be added.

| value | meaning |
|---|---|
| `mixer_use` | Pays into or is paid out of a mixing service. |
| `address_poisoning` | Sends dust or worthless transfers from addresses made to look like a victim's counterparties. |
| `mixer_funding` | The first payment above dust to the account came from a mixing service. |
| `structuring` | At least 5 payments within 24 hours that are each at most 10 % below the same threshold. |
| `layering` | Funds pass at least 3 unattributed owners in a row, each of which passed at least 90 % of all that it ever received on to the next within 3 days, by its only payment and to nobody else. |
| `peel_chain` | Funds pass at least 5 transactions in a row, each within 12 hours of the one before, that split off a payment of at most 30 % and leave the rest at another address. |
| `rapid_pass_through` | At least 2 payments, and at least 80 % of all funds received, are passed on within an hour. |
| `gather_scatter` | At least 5 owners pay within 24 hours, and at least 80 % as much is paid to at least 5 others until 48 hours later. |
| `scatter_gather` | At least 5 owners are paid, and pay at least 80 % as much to the same further owner, all within 7 days. |
| `cycle` | Funds return over 2 to 5 other owners within 7 days, each payment at least half as large as the one before and at most twice. |
| `coinjoin_use` | Takes part in joint transactions that hide who paid whom (generic, Wasabi, Whirlpool, JoinMarket). |
| `dusting` | Dust is sent to at least 10 owners within 24 hours. |
| `fan_in` | At least 10 owners pay within 24 hours. |
| `fan_out` | At least 10 owners are paid within 24 hours. |
| `dormant_reactivation` | At least half of the balance moves after a year or more without activity. |
| `deposit_forwarding` | Deposit address: at least 2 owners pay it, and everything that it ever paid went to one custodial service. |
| `peel_step` | Transaction with one input and two outputs, of which the smaller one has at most 30 % of both. |
| `consolidation` | Transaction that joins at least 5 inputs of one owner in one output. |
| `batch_payout` | Transaction by which one owner pays at least 5 others. |
| `self_transfer` | Transaction by which an owner pays nobody but itself. |
| `joint_transaction` | Transaction that several parties made together to hide who paid whom. |
| `op_return` | Transaction with an output that holds data and no funds. |
| `dust` | Transaction with an output of dust. |"""


class EvidenceReference(TypedDict):
    """Reference to a piece of evidence."""

    kind: EvidenceKind
    """Kind of the reference."""
    reference: str
    """Identifier of the evidence."""


EvidenceKind: TypeAlias = str
"""Kind of a reference to evidence.

Further values may be added.

| value | meaning |
|---|---|
| `list_entry` | An entry of a list: the list, the entity's identifier and the address as published. |
| `label` | A label's source and upstream. |
| `address` | Another address: chain and address. |
| `transaction` | A transaction. |
| `source` | A source. |"""


class Decisive(TypedDict):
    """A smallest set of components without which the verdict would be milder, with the answer without them.

The verdict stays as long as any of them is there. Behavior patterns change no verdict and are in no set."""

    components: list[int]
    """The components, by their positions in `scoring_components`, counted from 0."""
    risk_score: Score
    """Risk score without them."""
    verdict: Verdict
    """Verdict without them."""
    smallest: bool
    """True if no set with fewer components exists; false if so many components count that only their order was searched: then each of the set is needed, and a set with fewer components may exist."""


class ContractUse(TypedDict):
    """Dealings of the address with contracts, and what it holds in them."""

    kept: list[KeptMoney]
    """Own money of the address that was exchanged, or that contracts gave back, the largest sums first, at most 10, of the payments that a check reads one by one. It is no income: it keeps its own history, and what the contract holds is not the address's."""
    further_kept: int
    """Number of further ones."""
    holdings: list[ContractHolding]
    """Tokens and claims of the address that followed money backs, the largest sums first, at most 10. They change no score: their money counts when a contract pays it out."""
    further_holdings: int
    """Number of tokens and claims that are not in `holdings`."""
    contract_pool: list[ContractPool]
    """Money that contracts paid beyond what anybody is known to have put in for the address, by unit. It has the origins of what is left in the contract."""
    token_dealings: list[TokenDealing]
    """Transfers between the address and parties on sanctions lists of tokens whose money is not followed, since the listing where its day is known; at most 10."""


class KeptMoney(TypedDict):
    """Own money that a contract exchanged or gave back."""

    way: KeptWay
    """The way in which the money was kept."""
    via: ContractParty
    """The contract that paid, or the person with whom the address exchanged within one transaction."""
    gave: list[Amount]
    """Amounts that the address gave in exchange."""
    got: list[Amount]
    """Amounts that it got."""
    payments: int
    """Number of payments by the contract."""
    detail: str
    """Explanation for people."""
    transactions: list[str]
    """Transactions with the largest payments, at most 5."""


KeptWay: TypeAlias = str
"""The way in which a contract left a subject its own money.

Further values may be added.

| value | meaning |
|---|---|
| `exchanged` | The contract gave another asset for it. |
| `returned` | The contract gave back what the subject had put in. |"""


class ContractParty(TypedDict):
    """A contract."""

    address: str
    """Address of the contract."""
    entity: NotRequired[str | None]
    """Name of the contract by lists and labels; null if it has none."""


class ContractHolding(TypedDict):
    """A token or claim with the money that backs it."""

    kind: HoldingKind
    """Kind of the holding."""
    token: NotRequired[str | None]
    """Address of the token's contract; null for a claim."""
    contract: NotRequired[ContractParty | None]
    """The contract into which the money was paid; null if it is not known."""
    backing: list[HoldingBacking]
    """The money, by asset."""
    detail: str
    """Explanation for people."""


HoldingKind: TypeAlias = str
"""Kind of a holding beside scored assets.

Further values may be added.

| value | meaning |
|---|---|
| `token` | A token outside the table of scored assets, such as a receipt for a deposit. |
| `claim` | A claim on what a contract holds, without a token. |"""


class HoldingBacking(TypedDict):
    """Money in one asset that backs a holding."""

    amount: Amount
    """Amount of the money."""
    severe_share: str
    """Share of the amount that is of severe categories, as a decimal from 0 to 1."""
    of_others: bool
    """False for what the address put in; true for what others put in for it, or paid for the token. Anybody can put in for anybody: such money is received only when it is paid out."""


class ContractPool(TypedDict):
    """Money that contracts paid beyond what anybody is known to have put in for the address."""

    amount: Amount
    """The sum."""
    share: str
    """Share of all that the address received in the unit, as a decimal from 0 to 1."""
    transactions: list[str]
    """Transactions with the largest payments, at most 5."""


class TokenDealing(TypedDict):
    """Transfers of tokens with a listed party in one direction."""

    party: str
    """Address of the party."""
    entity: NotRequired[str | None]
    """Name of the party."""
    category: Category
    """Category of the party."""
    direction: Direction
    """Direction of the tokens."""
    initiated: bool
    """True if the address sent one of the transactions: then the rule `listed_token_dealing` fires, except for services."""
    tokens: list[str]
    """Addresses of the tokens' contracts, at most 5."""
    transactions: list[str]
    """The newest of the transactions, at most 5."""


class AssociatedWallet(TypedDict):
    """Address that is associated with the assessed address."""

    blockchain: ChainId
    """Identifier of the associated address's blockchain."""
    address: str
    """Address in canonical form."""
    relation: Relation
    """Relation to the assessed address."""
    heuristic: str
    """Heuristic that associates the address; `/signals` defines each heuristic."""
    confidence: Confidence
    """Confidence of the association, in percent."""
    categories: list[Category]
    """Categories of the associated address's labels and listings."""
    listed: bool
    """True if the associated address is on a list in force."""
    entity: NotRequired[str | None]
    """Name of the entity, where known."""
    transactions: list[str]
    """Transactions that show the association, at most 20: the co-spends that connect both addresses, or the largest payments between them."""
    first_seen: NotRequired[str | None]
    """Time of the first transaction that shows the association."""
    last_seen: NotRequired[str | None]
    """Time of the last transaction that shows the association."""
    amounts: list[Amount]
    """Amounts that moved between both addresses, in both directions together."""
    received: list[Amount]
    """Amounts that the assessed address received from the associated address."""
    sent: list[Amount]
    """Amounts that the assessed address sent to the associated address."""


Relation: TypeAlias = str
"""Relation of an associated address.

Further values may be added.

| value | meaning |
|---|---|
| `same_owner` | One party controls both addresses. |
| `possible_owner` | One party may control both addresses. |
| `service_deposit` | A deposit address at a service. |
| `funder` | Funded the first transactions of the assessed address. |
| `counterparty` | Sent funds to the assessed address, or received funds from the assessed address. |
| `same_key` | One key controls both addresses. |
| `deployer` | Created the assessed address, which is a contract. |
| `deployed` | A contract that the assessed address created. |
| `same_deployer` | A contract that the creator of the assessed address created too. |
| `resource_lender` | Lends the assessed address resources that pay for its transactions (energy or bandwidth of TRON). |
| `resource_borrower` | Borrows such resources from the assessed address. |"""


class AssessedPattern(TypedDict):
    """Behavior pattern of the address's owner: of its co-spend cluster, or of the address itself if the address has no cluster."""

    pattern: Pattern
    """Identifier of the pattern; `/signals` defines each pattern."""
    role: PatternRole
    """Role of the owner in the pattern."""
    description: str
    """The pattern in one sentence."""
    scored: bool
    """True if the pattern counts for the score."""
    unscored_reason: NotRequired[UnscoredReason | None]
    """Reason for which the pattern does not count: `victim` (the owner suffered the pattern), `service` (services behave like this), `regular_activity` (the owner shows the pattern day after day, as businesses do), `little_received` (the owner received too little by the pattern), `paid_into_only` (the owner only paid into the pattern), `counted_as_exposure` (the funds are scored as exposure), `counted_once` (the pattern counts in another role), `form_of_transaction` (a form of transactions has no risk by itself). Null where the pattern counts."""
    contribution: Score
    """Points that the pattern contributes to the score: the contribution of the component of kind `behavior` with the same `pattern`. Patterns never change a verdict: they contribute 0 where the other evidence already has the highest score of its verdict, or where severe funds without decay decide the score."""
    confidence: Confidence
    """Confidence of the detection in percent, the highest of all occurrences. The confidence grades how clear the pattern is and is not a probability."""
    count: int
    """Number of occurrences: windows of time, chains, cycles, payments or transactions."""
    first_seen: str
    """Time of the first transaction that shows the pattern."""
    last_seen: str
    """Time of the last transaction that shows the pattern."""
    amount: Amount
    """Funds of the owner that took part in the pattern."""
    share: str
    """Share of the funds that took part in all funds that the owner sent (role `actor`) or received (other roles, and `actor` of `cycle`, `gather_scatter` and `rapid_pass_through`) in the transactions that were read; a decimal from 0 to 1."""
    largest: LargestOccurrence
    """The occurrence with the largest amount, which the sentence describes. The sentences of `rapid_pass_through`, `mixer_use`, `coinjoin_use` and of forms of transactions sum up all occurrences."""
    transactions: list[str]
    """Transactions that show the pattern, at most 20, in the order of the chain; the owner's transactions are preferred."""


PatternRole: TypeAlias = str
"""Role of the subject's owner in a pattern.

Further values may be added.

| value | meaning |
|---|---|
| `actor` | The owner carries the pattern out. |
| `recipient` | The owner is paid by the pattern's transactions. |
| `victim` | The owner is the victim of the pattern; never scored. |"""


UnscoredReason: TypeAlias = str
"""Reason for which a pattern does not count for the score.

Further values may be added.

| value | meaning |
|---|---|
| `victim` | The owner was the victim. |
| `service` | The owner is a service, and services behave like this. |
| `regular_activity` | The owner shows the pattern day after day, as businesses do. |
| `little_received` | The owner received only a small amount, which anybody can send to anybody. |
| `paid_into_only` | The owner only paid into the pattern: others may have carried the pattern out. |
| `counted_as_exposure` | The funds are scored as exposure. |
| `counted_once` | The pattern counts in another role. |
| `form_of_transaction` | The pattern describes a form of transaction that has no risk by itself. |
| `contract` | The account is a contract, which moves money of its users. |"""


class LargestOccurrence(TypedDict):
    """The occurrence of a pattern with the largest amount. Figures that the pattern does not have are null."""

    amount: Amount
    """Funds of the owner that took part in the occurrence."""
    parties: NotRequired[int | None]
    """Number of distinct owners on the other side of the payments, or of intermediaries; for a victim of `dusting`, of all receivers of the dust."""
    payments: NotRequired[int | None]
    """Number of payments of a `structuring`."""
    length: NotRequired[int | None]
    """Number of steps of a `peel_chain`, or of owners of a `layering` run or of a `cycle`."""
    duration_seconds: NotRequired[int | None]
    """Time from the first transaction to the last, in seconds; for `dormant_reactivation` the length of the pause, for `rapid_pass_through` the longest time that a payment stayed."""
    threshold: NotRequired[Amount | None]
    """Threshold below which the payments of a `structuring` stay."""
    coinjoin: NotRequired[str | None]
    """Protocol of a joint transaction."""


Activity = TypedDict(
    "Activity",
    {
        "status": "ActivityStatus",
        "first_seen": "NotRequired[str | None]",
        "last_seen": "NotRequired[str | None]",
        "counts": "NotRequired[ActivityCounts | None]",
        "in": "list[Amount]",
        "out": "list[Amount]",
        "balance": "list[Amount]",
    },
)
"""Activity of an address over its lifetime."""


ActivityStatus: TypeAlias = str
"""Presence of an address on its chain.

Further values may be added.

| value | meaning |
|---|---|
| `seen` | The address appears in at least one block. |
| `none` | The address appears in no block. Absence from the chain does not mean that the address carries no risk. |
| `not_assessed` | No source reads the chain, or the history is not complete. |"""


class ActivityCounts(TypedDict):
    """Counts of transfers."""

    transfers_in: int
    """Incoming transfers."""
    transfers_out: int
    """Outgoing transfers."""


class Warning(TypedDict):
    """Circumstance that limits the answer and does not change the score."""

    code: str
    """Stable identifier for programs. New identifiers may be added."""
    message: str
    """Explanation for people."""


class Coverage(TypedDict):
    """Coverage of an assessment, by kind of evidence."""

    sanctions: CoverageBlock
    """Sanctions lists."""
    labels: CoverageBlock
    """Labels of the address itself."""
    association: CoverageBlock
    """Addresses of the same key and co-spend clusters."""
    exposure: CoverageBlock
    """Flows of funds."""
    behavior: CoverageBlock
    """Behavior patterns."""


class CoverageBlock(TypedDict):
    """Coverage of one kind of evidence."""

    status: CoverageStatus
    """Status of the coverage."""
    detail: str
    """Explanation for people."""


CoverageStatus: TypeAlias = str
"""Status of the coverage of one kind of evidence.

Further values may be added.

| value | meaning |
|---|---|
| `assessed` | All data was assessed. |
| `partial` | A part of the data was assessed, or the data is stale. |
| `not_assessed` | Nothing was assessed: no source of such data is configured. |
| `unavailable` | Nothing was assessed: the data should be present and is missing. |
| `not_applicable` | The chain has no data of this kind. |"""


class AssessedSource(TypedDict):
    """A source of data with its freshness."""

    id: SourceId
    """Name of the source."""
    kind: SourceKind
    """Kind of data."""
    lists: list[ListId]
    """Sanctions lists in the source's newest publication."""
    published_at: NotRequired[str | None]
    """Date of issue of the source's newest publication; with `as_of`, of the newest publication up to that day. For prices, the newest day with a price."""
    fetched_at: NotRequired[str | None]
    """Time at which the newest publication was last fetched or confirmed to be unchanged; null if the source was never fetched."""
    never_fetched: NotRequired[bool]
    """True if the source is fetched on a schedule, and nothing was ever imported of it. Left out otherwise."""
    digest: str
    """SHA-256 of the source's newest publication; empty if it was never fetched."""
    entries: int
    """Number of entries; for a chain, number of known blocks."""
    mandatory: bool
    """True if the policy requires the source."""
    stale: bool
    """True if the source is older than the policy permits."""
    sample: bool
    """True if the source belongs to the demo data set."""
    unmatched: NotRequired[dict[str, int]]
    """Numbers of entries that no check of a chain can match, by the chain that they name: their texts are no addresses of it. Left out if there are none."""
    latest_block: NotRequired[LatestBlock | None]
    """The newest known block, where the source is a chain."""


SourceKind: TypeAlias = str
"""Kind of data that a source provides.

Further values may be added.

| value | meaning |
|---|---|
| `sanctions` | Sanctions listings. |
| `labels` | Labels. |
| `prices` | Prices in US dollars. |
| `chain` | Blocks of a chain. |"""


class LatestBlock(TypedDict):
    """The newest known block of a chain."""

    height: int
    """Height of the block."""
    hash: str
    """Hash of the block."""
    time: str
    """Time in the block's header."""
    start_height: int
    """Height of the first known block of the chain. Funds from earlier blocks have no known origin."""
    ingest_mode: IngestMode
    """Way in which the source reads the chain."""


IngestMode: TypeAlias = str
"""Way in which a source reads a chain.

Further values may be added.

| value | meaning |
|---|---|
| `ingested` | Every block is recorded. |
| `on_demand` | Histories of single addresses are fetched on demand. |"""


AssessmentScope: TypeAlias = Literal["full", "lists_and_labels"]
"""Evidence that an assessment covers.

| value | meaning |
|---|---|
| `full` | Lists, labels and flows of funds on the chain. |
| `lists_and_labels` | Lists and labels only: flows of funds are not known. |"""


Environment: TypeAlias = str
"""Kind of data.

Further values may be added.

| value | meaning |
|---|---|
| `production` | Real data. |
| `sample` | The demo data set. |
| `sandbox` | The sandbox, whose answers are chosen by the request. |"""


class ChainVerdict(TypedDict):
    """Check of an account on one of several chains."""

    blockchain: ChainId
    """Identifier of the blockchain."""
    verdict: Verdict
    """Verdict of the policy."""
    risk_score: Score
    """Risk score, 0 to 100."""
    risk_level: RiskLevel
    """Risk level of the score under the policy."""
    complete: bool
    """`false` if mandatory data is missing or stale."""
    scope: AssessmentScope
    """Evidence that the assessment covers: `lists_and_labels` if flows of funds were not assessed."""
    assessed: list[str]
    """Kinds of evidence that were assessed, in whole or in part, such as `sanctions`."""
    not_assessed: list[str]
    """Kinds of evidence that were not assessed, such as `exposure`."""
    assessment_digest: str
    """Digest of the assessment that a check on this chain gives."""


class CheckRequest(TypedDict):
    """Request to check one address."""

    blockchain: str
    """Blockchain: its identifier (`btc`, `eth`, `trx` and others) or a well-known name, in any letter case; `evm` for every EVM chain."""
    address: str
    """Address in any form that the blockchain allows."""
    reference: NotRequired[str | None]
    """Your own reference, at most 128 characters; repeated in the answer."""
    direction: NotRequired[TransferDirection | None]
    """Direction of the planned transfer; repeated in the answer, without effect on the assessment."""


class AddressesResponse(TypedDict):
    """Answer to a check of many addresses. The type describes the answer, which is written piece by piece."""

    results: list[CheckResult]
    """The answer of each check, or its problem, in the order of the request."""


CheckResult = TypedDict(
    "CheckResult",
    {
        "check_id": "NotRequired[str]",
        "reference": "NotRequired[str | None]",
        "direction": "NotRequired[TransferDirection | None]",
        "address_submitted": "NotRequired[str]",
        "blockchain": "NotRequired[ChainId]",
        "address": "NotRequired[str]",
        "transfer": "NotRequired[AssessedTransfer | None]",
        "risk_score": "NotRequired[Score]",
        "risk_level": "NotRequired[RiskLevel]",
        "verdict": "NotRequired[Verdict]",
        "complete": "NotRequired[bool]",
        "reasons": "NotRequired[list[Reason]]",
        "entity": "NotRequired[Entity | None]",
        "labels": "NotRequired[list[AssessedLabel]]",
        "conflicts": "NotRequired[list[Conflict]]",
        "sanctions": "NotRequired[list[AssessedListing]]",
        "further": "NotRequired[FurtherItems | None]",
        "scoring_components": "NotRequired[list[ScoringComponent]]",
        "decisive": "NotRequired[Decisive | None]",
        "exposure": "NotRequired[list[Exposure]]",
        "contracts": "NotRequired[ContractUse | None]",
        "associated_wallets": "NotRequired[list[AssociatedWallet]]",
        "transaction_patterns": "NotRequired[list[AssessedPattern]]",
        "activity": "NotRequired[Activity]",
        "warnings": "NotRequired[list[Warning]]",
        "coverage": "NotRequired[Coverage]",
        "sources": "NotRequired[list[AssessedSource]]",
        "scope": "NotRequired[AssessmentScope]",
        "environment": "NotRequired[Environment]",
        "data_revision": "NotRequired[str]",
        "model_version": "NotRequired[str]",
        "policy_revision": "NotRequired[str]",
        "chains": "NotRequired[list[ChainVerdict] | None]",
        "assessed_at": "NotRequired[str]",
        "assessment_digest": "NotRequired[str]",
        "cached": "NotRequired[bool]",
        "processing_time_ms": "NotRequired[float]",
        "type": "NotRequired[str]",
        "title": "NotRequired[str]",
        "status": "NotRequired[int]",
        "detail": "NotRequired[str]",
        "instance": "NotRequired[str]",
        "code": "NotRequired[ProblemCode]",
        "request_id": "NotRequired[str]",
        "errors": "NotRequired[list[FieldError]]",
        "violated-policies": "NotRequired[list[str]]",
    },
)
"""Result of one of many checks: the fields of an answer, of which `check_id` is one, or those of a problem, of which `code` is one."""


ProblemCode: TypeAlias = str
"""Problem code.

Further values may be added.

| value | meaning |
|---|---|
| `malformed_json` | The body is not valid JSON. |
| `invalid_request` | A field of the request is wrong. |
| `malformed_http` | The request is malformed. |
| `missing_key` | No API key was sent. |
| `invalid_key` | The API key is not valid. |
| `tenant_suspended` | The tenant is suspended. |
| `plan_without_api_access` | The tenant's plan has no access to the API. |
| `insufficient_scope` | The API key lacks the required scope. |
| `not_found` | Nothing exists at this path. |
| `transaction_not_found` | The transaction is not known on this blockchain. |
| `output_not_found` | The transaction has no such output or transfer. |
| `method_not_allowed` | This method is not allowed here. |
| `request_timeout` | The request did not arrive in time. |
| `idempotency_key_in_use` | A request with this idempotency key is being answered. |
| `body_too_large` | The body is too large. |
| `unsupported_media_type` | The media type of the body is not supported. |
| `idempotency_key_reused` | A request with another body has this idempotency key. |
| `unsupported_chain` | The blockchain is not supported. |
| `invalid_address` | The address is not valid on this blockchain. |
| `chain_not_followed` | No node or indexer is configured for this blockchain. |
| `unsupported_transfer` | The transfer cannot be assessed. |
| `quota_exceeded` | A rate limit or quota is exceeded. |
| `reduced_capacity` | Rate limiting is degraded and the fallback allowance is used up. |
| `too_many_in_flight` | Too many requests of the tenant are in flight. |
| `headers_too_large` | The request's header fields are too large. |
| `internal_error` | Something went wrong here; it was logged. |
| `key_data_stale` | Keys could not be confirmed for too long. |
| `unavailable` | The service cannot answer in time. |
| `overloaded` | Too many requests are in flight. |"""


class FieldError(TypedDict):
    """An error in one field."""

    field: str
    """Name of the field."""
    message: str
    """Description of the error in the field, and of a valid value."""


class AddressesRequest(TypedDict):
    """Request to check many addresses: 1 to 100 bodies of a check of one address."""

    checks: list[CheckRequest]
    """The checks, answered in this order: 1 to 100."""


TransferRequest = TypedDict(
    "TransferRequest",
    {
        "blockchain": "str",
        "transaction": "NotRequired[str | None]",
        "output": "NotRequired[int | None]",
        "log_index": "NotRequired[int | None]",
        "trace_index": "NotRequired[str | None]",
        "address": "NotRequired[str | None]",
        "to": "NotRequired[str | None]",
        "from": "NotRequired[str | None]",
        "asset": "NotRequired[str | None]",
        "amount": "NotRequired[str | None]",
        "direction": "TransferDirection",
        "reference": "NotRequired[str | None]",
    },
)
"""Request to check one transfer: outputs of one transaction, named either by `output` or by `address`; on an account chain, one transfer, named by `log_index`, `trace_index` or `address` where the transaction has several. A withdrawal that is not sent yet has no `transaction`, but `to`, `asset` and `amount`."""


class ChecksResponse(TypedDict):
    """One page of checks."""

    checks: list[ListedCheck]
    """The checks, the newest first."""
    next_cursor: NotRequired[str | None]
    """Cursor of the next page; null at the end. A page before the end may have fewer checks than `limit`, or none, because the work for one page is bounded."""


class ListedCheck(TypedDict):
    """An earlier check. `GET /checks/{check_id}` shows its answer."""

    check_id: str
    """Identifier of the check."""
    checked_at: str
    """Time of the answer, to the millisecond."""
    reference: NotRequired[str | None]
    """Your reference from the request."""
    blockchain: str
    """Identifier of the blockchain."""
    address: str
    """Address in canonical form; for a transfer, the receiver's address."""
    risk_score: Score
    """Risk score, 0 to 100."""
    verdict: str
    """Verdict of the answer."""
    rules: list[str]
    """Codes of the answer's reasons, and identifiers of the minimum score rules that fired, each once."""


class ScreenResponse(TypedDict):
    """Answer to one row."""

    row: int
    """Number of the row in the request, from 1; empty lines are not counted."""
    reference: NotRequired[str | None]
    """Your reference from the row."""
    blockchain: NotRequired[str | None]
    """Identifier of the blockchain, or the submitted text."""
    address: NotRequired[str | None]
    """Address in canonical form, or the submitted text."""
    risk_score: NotRequired[Score | None]
    """Risk score, from 0 to 100."""
    risk_level: NotRequired[RiskLevel | None]
    """Band of the score."""
    verdict: NotRequired[Verdict | None]
    """Verdict under the policy."""
    categories: list[Category]
    """Categories of the address and of addresses tied to it, riskiest first."""
    sanctioned: NotRequired[bool | None]
    """True if a sanctions list names the address itself today."""
    reason: NotRequired[str | None]
    """Text of the reason with the largest weight."""
    scope: AssessmentScope
    """Evidence that the row covers. `lists_and_labels`: flows of funds were not requested, or are not known. A row with `lists_and_labels` does not get the verdict `allow` on a chain whose flows are followed, or if the policy requires flows."""
    decided_by: NotRequired[DecidedBy | None]
    """Evidence by which the row was decided: `lists_and_labels`, `trace` for all evidence of a check, or `compositions` for the address's history and the compositions of its transactions (breakdowns of their funds by origin), if the policy allows these even at their largest weight. With `compositions`, a check has the same verdict, and this score or a lower one."""
    error: NotRequired[str | None]
    """Reason why the row was not answered. Rows that were not answered are not charged."""


DecidedBy: TypeAlias = str
"""Evidence by which a row was decided.

Further values may be added.

| value | meaning |
|---|---|
| `lists_and_labels` | Lists and labels. |
| `compositions` | Lists, labels, the address's history and the compositions (origin breakdowns) of its transactions. A check of the address has the same verdict, and the same score or a lower score. |
| `trace` | All evidence of a check, flows included. |"""


class ScreenRequest(TypedDict):
    """One row of a request."""

    blockchain: str
    """Blockchain: its identifier or a well-known name, in any letter case."""
    address: str
    """Address in any form that the blockchain allows."""
    reference: NotRequired[str | None]
    """Your own reference, at most 128 characters; repeated in the row's answer."""


UsageResponse = TypedDict(
    "UsageResponse",
    {
        "from": "str",
        "to": "str",
        "total": "int",
        "usage": "list[UsageRow]",
    },
)
"""Charges of a tenant."""


class UsageRow(TypedDict):
    """Charges of one day, key, plan, operation and verdict."""

    day: str
    """The day (UTC)."""
    key: str
    """Visible part of the key."""
    plan: str
    """The plan."""
    operation: str
    """`check` for single addresses, `screen` for rows of bulk requests."""
    verdict: str
    """The verdict."""
    count: int
    """Number of charges."""


class AccountResponse(TypedDict):
    """Settings of a tenant."""

    tenant: AccountTenant
    """The tenant."""
    plan: AccountPlan
    """The tenant's plan."""
    limits: list[AccountLimit]
    """The limits in force, all of which apply to each request."""
    policy: AccountPolicy
    """The risk policy of the tenant's answers."""
    keys: list[AccountKey]
    """The tenant's API keys, including revoked and expired ones, oldest first."""


class AccountTenant(TypedDict):
    """A tenant."""

    name: str
    """Name of the tenant."""
    display_name: str
    """Display name."""


class AccountPlan(TypedDict):
    """Properties of a plan in addition to its limits."""

    name: str
    """Name of the plan."""
    display_name: str
    """Display name."""
    max_screen_rows: int
    """Largest number of rows in one bulk request."""
    max_full_screen_rows: int
    """Largest number of rows in one bulk request with `scope=full`."""
    max_in_flight: NotRequired[int | None]
    """Largest number of your requests in flight on one server, with checks counted separately for each blockchain; null: a fair share of the server's capacity."""
    max_streams: NotRequired[int | None]
    """Largest number of your bulk requests in flight on one server; null: a fair share of the server's capacity."""
    cache_seconds: int
    """Seconds for which an answer may be repeated from the cache."""
    checks_kept_seconds: int
    """Seconds for which an answer can be retrieved again."""
    usage_kept_seconds: int
    """Seconds for which usage is kept."""


class AccountLimit(TypedDict):
    """A limit in force."""

    name: str
    """Name, as in `RateLimit` header fields."""
    requests: int
    """Requests or checks allowed in one window."""
    window_seconds: int
    """Length of the window in seconds."""
    counts: Counts
    """Unit that the limit counts."""
    per: Per
    """Subject whose requests are counted together."""
    source: LimitSource
    """Kind of object that sets the number of requests."""
    rate_limit: NotRequired[str | None]
    """Name of the rate limit that sets the number; null for the plan's own number."""
    until: NotRequired[str | None]
    """Expiry time of the rate limit; null if it does not expire."""
    plan_requests: int
    """The plan's own number of requests."""


Counts: TypeAlias = str
"""Events that a limit counts.

Further values may be added.

| value | meaning |
|---|---|
| `requests` | Authenticated requests with any response status. |
| `checks` | Checks that were answered with status 200, and rows of `/screen` that were answered. |"""


Per: TypeAlias = str
"""Callers whose requests a limit counts together.

Further values may be added.

| value | meaning |
|---|---|
| `key` | Requests of one key. |
| `tenant` | Requests of all keys of one tenant. |
| `plan` | Requests of all tenants of the plan. |"""


LimitSource: TypeAlias = str
"""Kind of object that sets a limit's number.

Further values may be added.

| value | meaning |
|---|---|
| `plan` | The plan. |
| `rate_limit` | A rate limit, for the tenant or for its plan. |"""


class AccountPolicy(TypedDict):
    """A policy."""

    name: str
    """Name of the policy."""
    revision: str
    """Revision of the policy's content, as `policy_revision` in answers."""


class AccountKey(TypedDict):
    """An API key, without its secret."""

    id: str
    """Visible part of the key."""
    name: str
    """Name given by its owner."""
    environment: str
    """Environment in which the key is valid: `live`, `sample` for the demo data set, or `sandbox`."""
    scopes: list[str]
    """Operations that the key permits."""
    state: str
    """State of the key: `active`, `expired` or `revoked`."""
    created_at: str
    """Creation time."""
    expires_at: NotRequired[str | None]
    """Expiry time; null if the key does not expire."""
    revoked_at: NotRequired[str | None]
    """Time at which the key was revoked; null if it was not revoked."""
    last_used_at: NotRequired[str | None]
    """Time at which the key was last used; uses through other servers appear within a minute."""


class SourcesResponse(TypedDict):
    """Sources of answers."""

    sources: list[AssessedSource]
    """All sources; the caller's policy decides `mandatory` and `stale`."""
    data_revision: str
    """Revision of the data."""
    environment: Environment
    """Kind of data: real, or a sample."""


class ChainsResponse(TypedDict):
    """Blockchains."""

    chains: list[ChainRow]
    """All blockchains, in the order of the documentation. The list of blockchains may grow."""
    data_revision: str
    """Revision of the data."""


class ChainRow(TypedDict):
    """A blockchain."""

    blockchain: ChainId
    """Identifier in requests and answers."""
    name: str
    """Name of the chain."""
    aliases: list[str]
    """Other names that requests may use."""
    asset: str
    """Ticker of the native coin; empty if there is none."""
    assets: list[FollowedAsset]
    """Assets whose money is followed, the native coin first."""
    supported: ChainCoverage
    """Parts of an answer that this version can give on the chain."""
    installed: InstalledChain
    """Parts that this installation has data for."""


class FollowedAsset(TypedDict):
    """An asset whose money is followed."""

    asset: str
    """Asset: `native`, or the address of the token's contract."""
    ticker: str
    """Ticker of amounts in answers."""
    decimals: int
    """Decimals: one unit has 10 to this power base units."""


class ChainCoverage(TypedDict):
    """The features of an assessment that Assay supports on a chain."""

    addresses: bool
    """Addresses are validated by the chain's own rules."""
    lists: bool
    """Lists are searched for an address."""
    labels: bool
    """Labels are searched for an address."""
    flows: bool
    """Flows of the native coin are traced."""
    tokens: bool
    """Flows of tokens are traced."""
    patterns: bool
    """Behavior patterns are detected."""
    transfers: bool
    """Single transfers are assessed."""
    clusters: bool
    """Addresses of one owner are clustered."""


class InstalledChain(TypedDict):
    """Data of this installation on a blockchain."""

    listed_addresses: int
    """Number of addresses that lists name, ended listings included."""
    labeled_addresses: int
    """Number of addresses with labels."""
    latest_block_height: NotRequired[int | None]
    """Height of the latest block of the chain's graph; null if the chain is not ingested."""
    flows: bool
    """True if flows are traced: the chain is ingested, or read on demand."""


class EntitiesResponse(TypedDict):
    """Listed parties with a name."""

    name: str
    """Name that was looked up."""
    entities: list[FoundEntity]
    """Listed parties with addresses whose names are similar, the most similar first. Parties without crypto addresses are not searched."""
    data_revision: str
    """Revision of the data."""


class FoundEntity(TypedDict):
    """Party of a list whose name was found."""

    list: ListId
    """Identifier of the list."""
    list_name: str
    """Name of the list."""
    entity_id: str
    """Identifier of the party on the list."""
    name: str
    """Primary name of the party."""
    matched_name: str
    """Name that matches: the primary one or another one."""
    match: NameMatch
    """Way in which the name matches."""
    score: int
    """Likeness of the names, 75 to 100. The score is never part of a risk score."""
    programs: list[str]
    """Sanctions programs under which the party is listed."""
    order_number: NotRequired[str | None]
    """Number by which the publisher refers to the entry."""
    legal_basis: NotRequired[str | None]
    """Law, regulation or decision that the entry rests on."""
    official_link: NotRequired[str | None]
    """Address of the publisher's page or document about the entry."""
    identifiers: list[str]
    """Documents and numbers by which the list identifies the party, such as `Passport 040070827`."""
    remarks: NotRequired[str | None]
    """Remarks of the list on the party."""
    listed_on: NotRequired[str | None]
    """Date on which the party was listed, as the list states it."""
    source: SourceId
    """Source that the entry was imported from."""
    addresses: list[FoundAddress]
    """Addresses of the party on this list, ended ones included."""


NameMatch: TypeAlias = str
"""Way in which a name was found.

Further values may be added.

| value | meaning |
|---|---|
| `exact` | The same name but for letter case, accents, punctuation and white space. |
| `transliterated` | The same words in another script or order. |
| `fuzzy` | A similar name; the score says how similar. |
| `words` | A name with further words: it has each word that was looked up, or one with a letter of difference. |"""


class FoundAddress(TypedDict):
    """Address of a listed party."""

    blockchains: list[str]
    """Blockchains on which the address is listed; empty if Assay does not support its chain."""
    address: str
    """Canonical address, else the address as the list prints it."""
    asset_code: str
    """Asset code of the list."""
    status: ListingStatus
    """Status today."""
    listed_on: NotRequired[str | None]
    """Date of the first publication known to hold the address."""
    delisted_on: NotRequired[str | None]
    """Date of the first publication without the address."""
    expires_on: NotRequired[str | None]
    """First day on which the listing is not valid by its own terms."""


class Catalogue(TypedDict):
    """Catalogue of the terms in answers, with the severities of the caller's policy."""

    model_version: str
    """Version of the risk model."""
    policy_revision: str
    """Identifier of the content of the caller's policy."""
    thresholds: CatalogueThresholds
    """Lowest scores of risk levels and verdicts."""
    categories: list[CatalogueCategory]
    """Entity categories."""
    tiers: list[CatalogueTier]
    """Strengths of evidence, strongest first."""
    heuristics: list[CatalogueHeuristic]
    """Heuristics that associate addresses."""
    patterns: list[CataloguePattern]
    """Behavior patterns."""
    rules: list[CatalogueRule]
    """Minimum score rules in force under the caller's policy."""


class CatalogueThresholds(TypedDict):
    """Lowest scores of risk levels and verdicts."""

    medium: Score
    """Lowest score of the risk level `medium`."""
    high: Score
    """Lowest score of the risk level `high`."""
    severe: Score
    """Lowest score of the risk level `severe`."""
    review: Score
    """Lowest score of the verdict `review`."""
    block: Score
    """Lowest score of the verdict `block`."""


class CatalogueCategory(TypedDict):
    """An entity category."""

    id: str
    """Identifier in answers."""
    definition: str
    """Definition of the category."""
    severity: int
    """Severity under the caller's policy, 0 to 100."""
    default_severity: int
    """Severity by default, 0 to 100."""
    severity_basis: str
    """Basis of the default severity: the publications that it follows."""
    is_service: bool
    """True if entities of the category hold or move other people's funds. Flows through a service are shown and not scored."""
    is_vasp: NotRequired[bool | None]
    """True if entities of the category are virtual asset service providers (VASPs); null if that depends on the entity."""


class CatalogueTier(TypedDict):
    """A strength of evidence."""

    id: str
    """Identifier in answers."""
    cap: Score
    """Highest score that evidence of this tier and of weaker tiers can reach together."""


class CatalogueHeuristic(TypedDict):
    """A heuristic that associates addresses."""

    id: str
    """Identifier in answers."""
    definition: str
    """Definition of the heuristic."""
    tier: Tier
    """Tier of the heuristic's findings."""
    supported: bool
    """True if this version of Assay applies the heuristic."""


class CataloguePattern(TypedDict):
    """A behavior pattern."""

    id: str
    """Identifier in answers."""
    definition: str
    """Definition of the pattern."""
    severity: int
    """Severity under the caller's policy, 0 to 100."""
    default_severity: int
    """Severity by default, 0 to 100."""
    supported: bool
    """True if this version of Assay detects the pattern."""


class CatalogueRule(TypedDict):
    """A minimum score rule: it raises the score to the threshold of its verdict."""

    id: str
    """Identifier in answers: `rule` of a scoring component."""
    description: str
    """Situation in which the rule fires."""
    verdict: RuleVerdict
    """Lowest verdict that the rule leads to. `block` needs evidence of the tier `investigation` or stronger."""
    fixed: bool
    """True if every policy has the rule, and no policy changes it."""


RuleVerdict: TypeAlias = str
"""Verdict that a rule leads to at least.

Further values may be added.

| value | meaning |
|---|---|
| `review` | The score is raised to the review threshold. |
| `block` | The score is raised to the block threshold; to just below it if the rule fires only with evidence that is weaker than the tier `investigation`. |"""


class SandboxCatalog(TypedDict):
    """Outcomes of the sandbox on one blockchain."""

    blockchain: ChainId
    """Identifier of the blockchain."""
    outcomes: list[OutcomeEntry]
    """The outcomes, each with what chooses it."""


class OutcomeEntry(TypedDict):
    """An outcome with the addresses and the transaction that choose it."""

    outcome: str
    """Name: a verdict, a circumstance, or the code of a problem. New names may be added."""
    status: int
    """HTTP status of a check."""
    description: str
    """Description in one sentence."""
    addresses: list[str]
    """Addresses that choose the outcome, one of each form; none for outcomes of transfers only."""
    transaction: NotRequired[str | None]
    """Transaction that chooses the outcome in a check of a transfer; null on blockchains without such checks."""


class Health(TypedDict):
    """Health of the server."""

    status: str
    """`ok` or `degraded`."""
    degraded: list[str]
    """Degradations under which requests are still answered."""


ProblemDetails = TypedDict(
    "ProblemDetails",
    {
        "type": "str",
        "title": "str",
        "status": "int",
        "detail": "str",
        "instance": "str",
        "code": "ProblemCode",
        "request_id": "str",
        "errors": "NotRequired[list[FieldError]]",
        "violated-policies": "NotRequired[list[str]]",
    },
)
"""Problem details (RFC 9457)."""
