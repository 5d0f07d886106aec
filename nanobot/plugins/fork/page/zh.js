/** 中文。 English is the key. */

export default {
  "Tool": "工具",
  "A message to add there": "在那里添加的一条消息",
  "A tool that gets the result below": "使用下面结果的工具",
  "As above; other calls ask a person first": "同上；其他调用先询问人",
  "Both give the same answer.": "两次运行给出相同的回答。",
  "Both runs side by side": "两次运行并排对比",
  "Empty: the same prompt": "留空：相同的提示词",
  "Files and commands in a copy of the workspace; nothing else":
    "文件和命令在工作区副本中执行；其他一律拒绝",
  "Fork": "分叉",
  "Fork from entry {n}": "从第 {n} 条分叉",
  "Fork from here": "从这里分叉",
  "New calls of tools": "新的工具调用",
  "no such step": "没有此步骤",
  "Note": "备注",
  "Nothing: every new call is refused": "不执行：拒绝所有新调用",
  "PROVIDER/MODEL; empty: the same model": "PROVIDER/MODEL；留空：相同的模型",
  "Run it comes from": "来源运行",
  "Say": "发言",
  "Show all steps": "显示所有步骤",
  "Show differences only": "只显示差异",
  "The fork shares the log up to entry {n} and has no effects outside of it.":
    "分叉共享到第 {n} 条为止的日志，且在分叉之外没有任何影响。",
  "{n} steps are equal, {m} differ.": "{n} 个步骤相同，{m} 个不同。",
  "Time": "时间",
  "Cost": "费用",
};
