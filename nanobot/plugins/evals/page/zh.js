/** 中文。 English is the key. */

export default {
  "Case": "用例",
  "Cases": "用例",
  "Evals": "评测",
  "Last results": "最近结果",
  "Make a case of this answer": "用此回答创建用例",
  "Make one of a rejected answer below, or run: nanobot evals add RUN":
    "用下面被否定的回答创建一个，或运行：nanobot evals add RUN",
  "No cases yet": "还没有用例",
  "Passed": "通过",
  "Regression tests of answers.": "回答的回归测试。",
  "Rejected answers": "被否定的回答",
  "Run now": "立即运行",
  "Why": "原因",
  "Time": "时间",
  "Cost": "费用",
};
