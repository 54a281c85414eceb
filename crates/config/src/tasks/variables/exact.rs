//! Numbers that are exactly as written.
//!
//! HCL values have 64 bits here, whole or not; in Terraform they have 512. So a number that would change is
//! refused, and operators compute with decimals of any length: hcl-rs calls these functions in their place.

use std::cmp::Ordering;

use bigdecimal::{BigDecimal, ToPrimitive as _, Zero as _};
use hcl::Number;
use hcl::edit::expr::{Expression, FuncArgs, FuncCall, FuncName};
use hcl::edit::visit_mut::{VisitMut, visit_expr_mut};
use hcl::edit::{Formatted, Ident};
use hcl::eval::{Context, Func, FuncDef, ParamType};
use hcl::expr::{BinaryOperator, UnaryOperator};
use hcl::{Identifier, Value};

/// Length of the longest text that can be a double without more digits than it has.
const LONGEST: usize = 400;

/// Replaces the operations of hcl-rs by exact ones. Fails if a number does not equal its written form, or if
/// the expression calls a function; functions do not exist here.
pub(super) fn make_exact(expression: &mut Expression) -> Result<(), String> {
    let mut rewrite = Rewrite { refused: None };
    rewrite.visit_expr_mut(expression);
    rewrite.refused.map_or(Ok(()), Err)
}

/// Where the exact operations are known.
pub(super) fn context() -> Context<'static> {
    let mut context = Context::new();
    for (name, function, arguments) in FUNCTIONS {
        let arguments = vec![ParamType::Any; arguments];
        context.declare_func(
            Identifier::unchecked(name),
            FuncDef::new(function, arguments),
        );
    }
    context
}

struct Rewrite {
    refused: Option<String>,
}

impl VisitMut for Rewrite {
    fn visit_number_mut(&mut self, number: &mut Formatted<Number>) {
        let Some(written) = number.as_repr().map(|text| &text[..]) else {
            return;
        };
        // A number that is too small for a double may have any exponent.
        let is_zero = number.value().as_u64() == Some(0);
        let digits = written.split(['e', 'E']).next().unwrap_or_default();
        let vanishes = is_zero && digits.contains(|digit| matches!(digit, '1'..='9'));
        let is_kept = written.len() <= LONGEST
            && !vanishes
            && parse(written).is_some_and(|written| written == exact(*number.value()));
        if !is_kept {
            let reason = format!(
                "the number {written} cannot be kept as it is written: it has too many digits"
            );
            self.refused.get_or_insert(reason);
        }
    }

    fn visit_expr_mut(&mut self, expression: &mut Expression) {
        if let Expression::FuncCall(call) = expression {
            let reason = format!("the function `{}` is not available here", *call.name.name);
            self.refused.get_or_insert(reason);
        }
        visit_expr_mut(self, expression);
        let call = match expression {
            Expression::UnaryOp(operation) if *operation.operator == UnaryOperator::Neg => {
                Some((NEGATE, vec![taken(&mut operation.expr)]))
            }
            Expression::BinaryOp(operation) => function_of(*operation.operator).map(|name| {
                let sides = [&mut operation.lhs_expr, &mut operation.rhs_expr];
                (name, sides.map(taken).into())
            }),
            _ => None,
        };
        if let Some((name, arguments)) = call {
            let name = FuncName::new(Ident::new_unchecked(name));
            *expression = FuncCall::new(name, FuncArgs::from(arguments)).into();
        }
    }
}

/// The expression; an empty one is left in its place.
fn taken(expression: &mut Expression) -> Expression {
    std::mem::replace(expression, Expression::null())
}

const NEGATE: &str = "exact_negative";

/// Name, function and number of its arguments.
const FUNCTIONS: [(&str, Func, usize); 12] = [
    (NEGATE, |arguments| number_of(&-one(&arguments[0], "-")?), 1),
    (
        "exact_sum",
        |both| compute(&both, "+", |a, b| Some(a + b)),
        2,
    ),
    (
        "exact_difference",
        |both| compute(&both, "-", |a, b| Some(a - b)),
        2,
    ),
    (
        "exact_product",
        |both| compute(&both, "*", |a, b| Some(a * b)),
        2,
    ),
    ("exact_quotient", |both| compute(&both, "/", quotient), 2),
    (
        "exact_remainder",
        |both| compute(&both, "%", |a, b| Some(a % b)),
        2,
    ),
    (
        "exact_equal",
        |both| Ok(Value::Bool(equal(&both[0], &both[1]))),
        2,
    ),
    (
        "exact_unequal",
        |both| Ok(Value::Bool(!equal(&both[0], &both[1]))),
        2,
    ),
    ("exact_less", |both| compare(&both, "<", Ordering::is_lt), 2),
    (
        "exact_at_most",
        |both| compare(&both, "<=", Ordering::is_le),
        2,
    ),
    ("exact_more", |both| compare(&both, ">", Ordering::is_gt), 2),
    (
        "exact_at_least",
        |both| compare(&both, ">=", Ordering::is_ge),
        2,
    ),
];

const fn function_of(operator: BinaryOperator) -> Option<&'static str> {
    Some(match operator {
        BinaryOperator::Plus => "exact_sum",
        BinaryOperator::Minus => "exact_difference",
        BinaryOperator::Mul => "exact_product",
        BinaryOperator::Div => "exact_quotient",
        BinaryOperator::Mod => "exact_remainder",
        BinaryOperator::Eq => "exact_equal",
        BinaryOperator::NotEq => "exact_unequal",
        BinaryOperator::Less => "exact_less",
        BinaryOperator::LessEq => "exact_at_most",
        BinaryOperator::Greater => "exact_more",
        BinaryOperator::GreaterEq => "exact_at_least",
        BinaryOperator::And | BinaryOperator::Or => return None,
    })
}

fn one(value: &Value, operator: &str) -> Result<BigDecimal, String> {
    match value {
        Value::Number(number) => Ok(exact(*number)),
        _ => Err(format!(
            "operator `{operator}` cannot be applied to what is no number"
        )),
    }
}

fn compute(
    both: &[Value],
    operator: &str,
    operation: fn(&BigDecimal, &BigDecimal) -> Option<BigDecimal>,
) -> Result<Value, String> {
    let (left, right) = (one(&both[0], operator)?, one(&both[1], operator)?);
    if matches!(operator, "/" | "%") && right.is_zero() {
        return Err("it divides by zero".to_owned());
    }
    operation(&left, &right).map_or_else(|| Err(INEXACT.to_owned()), |value| number_of(&value))
}

fn compare(both: &[Value], operator: &str, fits: fn(Ordering) -> bool) -> Result<Value, String> {
    let (left, right) = (one(&both[0], operator)?, one(&both[1], operator)?);
    Ok(Value::Bool(fits(left.cmp(&right))))
}

fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => exact(*left) == exact(*right),
        _ => left == right,
    }
}

/// `None` if it has no end.
fn quotient(left: &BigDecimal, right: &BigDecimal) -> Option<BigDecimal> {
    let quotient = left / right;
    (&quotient * right == *left).then_some(quotient)
}

const INEXACT: &str = "the result of a calculation has too many digits to be kept exactly";

fn number_of(value: &BigDecimal) -> Result<Value, String> {
    let number = if let Some(number) = value.to_u64().filter(|_| value.is_integer()) {
        Some(Number::from(number))
    } else if let Some(number) = value.to_i64().filter(|_| value.is_integer()) {
        Some(Number::from(number))
    } else {
        let text = value.to_scientific_notation();
        text.parse().ok().and_then(Number::from_f64)
    };
    number
        .filter(|number| exact(*number) == *value)
        .map(Value::Number)
        .ok_or_else(|| INEXACT.to_owned())
}

/// Exact value of the number: for a double the shortest text that means it, which is the one that files
/// contain.
fn exact(number: Number) -> BigDecimal {
    if let Some(number) = number.as_u64() {
        BigDecimal::from(number)
    } else if let Some(number) = number.as_i64() {
        BigDecimal::from(number)
    } else {
        let text = number.as_f64().map(|number| format!("{number:e}"));
        text.and_then(|text| parse(&text)).unwrap_or_default()
    }
}

fn parse(text: &str) -> Option<BigDecimal> {
    text.parse().ok()
}

#[cfg(test)]
mod tests;
